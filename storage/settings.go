package storage

import (
	"encoding/json"
	"fmt"
)

// PutSetting saves value as JSON under name.
func (tx *Tx) PutSetting(name string, value any) error {
	b, err := json.Marshal(value)
	if err == nil {
		err = tx.settings().Put([]byte(name), b)
	}
	if err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	return nil
}

// Setting decodes what is saved under name into value, or returns ErrNotFound and leaves value alone. Fields that
// are not saved keep what value has, so a value filled with defaults gains them.
func (tx *Tx) Setting(name string, value any) error {
	b := tx.settings().Get([]byte(name))
	if b == nil {
		return fmt.Errorf("setting %s: %w", name, ErrNotFound)
	}
	if err := json.Unmarshal(b, value); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	return nil
}

// DeleteSetting forgets a setting; one that is not there is no error.
func (tx *Tx) DeleteSetting(name string) error { return tx.settings().Delete([]byte(name)) }
