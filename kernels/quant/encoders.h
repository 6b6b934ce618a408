// All encoders at one level: ENCODERS names the function that finds them. Included after the level's lanes_*.h.
#include "search.h"
#include "block32.h"
#include "super_scale.h"
#include "super_line.h"
#include "plain.h"

ig_encode_fn *ENCODERS(int type) {
	switch (type) {
	case IG_F32: return encode_f32;
	case IG_F16: return encode_f16;
	case IG_BF16: return encode_bf16;
	case IG_Q4_0: return encode_q4_0;
	case IG_Q4_1: return encode_q4_1;
	case IG_Q5_0: return encode_q5_0;
	case IG_Q5_1: return encode_q5_1;
	case IG_Q8_0: return encode_q8_0;
	case IG_Q2_K: return encode_q2_k;
	case IG_Q3_K: return encode_q3_k;
	case IG_Q4_K: return encode_q4_k;
	case IG_Q5_K: return encode_q5_k;
	case IG_Q6_K: return encode_q6_k;
	case IG_IQ4_NL: return encode_iq4_nl;
	case IG_IQ4_XS: return encode_iq4_xs;
	case IG_MXFP4: return encode_mxfp4;
	default: return NULL;
	}
}
