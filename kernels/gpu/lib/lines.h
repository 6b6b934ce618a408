// Rows of a tile in LDS as matrix units take them: lines of 16 words, eight for each of two multiplies, by 8 waves of 32 lanes.
//
// A wave multiplies ROWS times 16 weight rows with four times 8 vectors. With g = lane/4 and t = lane%4, sum[i][n][e] of a lane is of
// the tile's weight row `row` + 16 * i + 8 * (e / 2) and of its vector `vector` + 8 * n + e % 2: neighbouring vectors, as a row and its residual
// are, belong to one lane.
#ifndef INGOT_LINES_H
#define INGOT_LINES_H

enum { LINE = 16 };

// Where a word of a row's line lies. Fours of words change places by the row: of eight rows a wave reads in different banks.
DEVICE int line_at(int row, int word) { return row * LINE + (word ^ ((row & 2) << 2 | (row & 4))); }

template <int RM, int RN> struct waves {
	enum { M = 16 * RM, N = 16 * RN, ACROSS = RN / 2, ROWS = RM * RN / 16 };
};

// Where a lane's part of a tile begins; made once, for wave_id() costs a shuffle.
struct lane_part {
	int row, vector; // of its results
	int line, t;     // the vector whose words it gives; t
};

template <class S> DEVICE lane_part lane_part_of() {
	int wave = wave_id(), g = lane_id() / 4, t = lane_id() % 4, first = wave % S::ACROSS * 32;
	lane_part p = {wave / S::ACROSS * (16 * S::ROWS) + g, first + 2 * t, first + g, t};
	return p;
}

// The two words of eight that a lane gives to a multiply. Of 32 values with one scale the order does not matter as long as weights and
// vectors have the same: neighbours are read at once.
template <int HALVES> DEVICE u32x2 lane_words(const u32 *lines, int row, int step, int t) {
	if (HALVES == 1)
		return *(const u32x2 *)(lines + line_at(row, step * 8 + 2 * t));
	u32x2 v = {lines[line_at(row, step * 8 + t)], lines[line_at(row, step * 8 + 4 + t)]};
	return v;
}

#endif
