package server

import (
	"reflect"
	"testing"
)

func TestListeningInodes(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 12346 1 0 20 4 30 10 -1
   2: 00000000:11F9 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12347 1 0 100 0 0 10 0
`
	if got := listeningInodes(table, 8080); !reflect.DeepEqual(got, []string{"12345"}) {
		t.Errorf("got %v", got)
	}
}
