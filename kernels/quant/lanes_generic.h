// The vector words of the encoders in plain C: one lane a vector. The other lanes_*.h mean the same, lane by lane.
enum { W = 1 };
typedef float vf;

IG_INLINE vf v_set(float x) { return x; }
IG_INLINE vf v_load(const float *p) { return *p; }
IG_INLINE void v_store(float *p, vf x) { *p = x; }
IG_INLINE vf v_min(vf a, vf b) { return a < b ? a : b; }
IG_INLINE vf v_max(vf a, vf b) { return a > b ? a : b; }
IG_INLINE vf v_abs(vf x) { return ig_bits_f32(ig_f32_bits(x) & 0x7fffffff); }
IG_INLINE vf v_copysign(vf x, vf sign) { return ig_bits_f32(ig_f32_bits(x) | (ig_f32_bits(sign) & 0x80000000)); } // x >= 0
IG_INLINE vf v_less(vf a, vf b, vf yes, vf no) { return a < b ? yes : no; }

// W whole numbers from 0 to 255 as bytes.
IG_INLINE void v_store_bytes(uint8_t *p, vf x) { *p = (uint8_t)(int)x; }

// The nearest of IQ4's 16 values: four comparisons with the middles between neighbours.
IG_INLINE vf v_iq4(vf x) {
	int i = x > iq4_middles[7] ? 8 : 0;
	i += x > iq4_middles[i + 3] ? 4 : 0;
	i += x > iq4_middles[i + 1] ? 2 : 0;
	i += x > iq4_middles[i] ? 1 : 0;
	return iq4_levels[i];
}

// W values to F16 and BF16, rounded to nearest even.
IG_INLINE void v_store_f16(uint16_t *p, vf x) { *p = ig_to_f16(x); }
IG_INLINE void v_store_bf16(uint16_t *p, vf x) { *p = ig_to_bf16(x); }
