// How a row's cells are shared by blocks, and what becomes of their sums.
#ifndef INGOT_ATTENTION_PARTS_H
#define INGOT_ATTENTION_PARTS_H

enum {
	SECTION = 64,   // cells: sections are whole numbers of them, counted from cell 0
	PART = DIM + 2, // floats of a section's result: the sum, its maximum and total
};

DEVICE int window_start(const attention_args &a, int pos) { return a.window > 0 && pos + 1 > a.window ? pos + 1 - a.window : 0; }

// The cells [from, to) of section s of a row that sees [start, end); how many sections the row has.
DEVICE int section(int start, int end, int sections, int s, int *from, int *to) {
	int first = start / SECTION, n = (end - 1) / SECTION - first + 1, each = (n + sections - 1) / sections;
	*from = (first + s * each) * SECTION;
	*to = *from + each * SECTION < end ? *from + each * SECTION : end;
	return (n + each - 1) / each;
}

// The place of section s of a row's head.
DEVICE float *part_of(const attention_args &a, int row, int head, int s) {
	return a.part + (((i64)row * a.heads + head) * a.sections + s) * PART;
}

// What a head's sum relative to max is multiplied by; a sink takes its share of the total alone.
DEVICE float share(const attention_args &a, int h, float max, float total) {
	if (!a.sinks)
		return 1.0f / total;
	float top = fmaxf(max, a.sinks[h]), factor = expf(max - top);
	return factor / (total * factor + expf(a.sinks[h] - top));
}

#endif
