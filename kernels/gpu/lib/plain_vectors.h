// The f32 rows that a product's tile takes.
#ifndef INGOT_PLAIN_VECTORS_H
#define INGOT_PLAIN_VECTORS_H

// Neighbouring rows, or those of slots in the order of their experts; the last is repeated.
struct vectors {
	const u8 *x;
	const int *order; // null: none
	i64 bytes;
	int last, per; // per: slots that share a row
};

// Where vector v begins, in bytes behind x.x.
DEVICE u32 vector_at(const vectors &x, int v) {
	v = v < x.last ? v : x.last;
	return (u32)(x.order ? x.order[v] / x.per : v) * (u32)x.bytes;
}

#endif
