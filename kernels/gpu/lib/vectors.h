// The quantized rows that a product's tile takes: a vector is one, and with a residual two of them are one row's.
#ifndef INGOT_VECTORS_H
#define INGOT_VECTORS_H

// Vector v of neighbouring ones; the last is repeated.
struct next_rows {
	const u8 *x;
	u32 bytes;
	int last;
};
DEVICE u32 vector_at(const next_rows &x, int v) { return (v < x.last ? v : x.last) * x.bytes; }

// Vector v of slots in the order of their experts.
struct slot_rows {
	const u8 *x;
	const int *order;
	u32 bytes, part_bytes;
	int last, parts, per; // per: slots that share a row
};
DEVICE u32 vector_at(const slot_rows &x, int v) {
	v = v < x.last ? v : x.last;
	return x.order[v / x.parts] / x.per * x.bytes + v % x.parts * x.part_bytes;
}

#endif
