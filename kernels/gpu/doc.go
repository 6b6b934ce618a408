// Package gpu holds the kernels of cards: their sources in one dialect for HIP, CUDA and the host, the arguments each
// takes, and the shape of its launch. It calls no driver: engine/device compiles Source's text and launches what
// an argument struct's Launch says.
//
//	m := gpu.Module{File: "mat_vec.gpu", Weight: "q4_k_planes"}   // what is compiled together
//	text, err := gpu.Source("hip", m)                             // one text, nothing left to include
//	l, err := gpu.MatVec{...}.Launch(card)                        // module, entry point, grid, block, argument bytes
//
// # Sources
//
// dialect/NAME.h defines the same words for each target; lib/*.h is shared code; args*.h the argument structs; *.gpu a family of
// kernels a file. A file names what it needs by #include "lib/x.h"; Source puts each such file in its place once, so a run-time
// compiler gets one text. Errors are reported by file and line all the same, by #line.
//
// A kernel for weights of one type is a template; the module's Weight, a name of lib/blocks.h or lib/planes.h, makes the instance. Entry
// points carry that name, so that a profile of a card is readable.
//
// # The words of the dialect
//
// Kernels may use these, templates, and the functions of <math.h> for float and double. Blocks are one-dimensional.
//
//	KERNEL(name, type) {...}     a kernel whose one parameter is `type a`, by value
//	DEVICE                       before a function of the card
//	SHARED(type, name, n)        n elements of LDS, at the top of a kernel; not zero at first; begins on 16 bytes
//	THREADS                      threads a block: a constant that Source defines for each module
//	WAVE                         lanes that run together: 64 or 32
//	UNROLL                       before a loop of fixed length
//	NO_UNROLL                    before a loop that shall stay one
//	RESTRICT                     of a pointer: no other leads to the same memory
//	i8 u8 i16 u16 u32 i64 u64    whole numbers; u16 is also an f16 or a bf16 as stored
//	u32x2 u32x4                  .x .y (.z .w), loaded and stored at once at a multiple of their size
//	group_x() group_y() group_z()   the block's place in the grid; groups_x() groups_y() its size
//	thread() lane_id() wave_id()    the thread's number in the block, in its wave, and the wave's in the block
//	barrier()                    all threads of the block that have not returned meet
//	shuffle(v, lane)             another lane's v, of 32 bits; all lanes of the wave that have not returned call together
//	shuffle_xor(v, mask)         the same of lane_id() ^ mask
//	dot4(a, b, c)                c + the four products of signed bytes
//	lookup4(n, t0, t1, t2, t3)   four bytes n, each below 16, looked up in a table of sixteen bytes
//	load_u32(p)                  four bytes at any address
//	float_bits(f) bits_float(u)  the same bits
//	f16_to_f32 f32_to_f16 bf16_to_f32 f32_to_bf16   to nearest even; halves are u16
//	no_contraction(x)            x, of which no fused multiply-add is made
//	settle()                     the compiler moves no access to memory across: for loops whose reads, all made early, would need more registers than there are
//	atomic_add_u32(p, v)         relaxed; what was there
//	load_acquire(p) store_release(p, v) fence() spin()   memory that other cards see; spin() goes into a loop that waits
//	HAS_MMA                      defined where there are matrix units:
//	mma_bf16(d, a, b)            d[4] += a[4] b[2], 16x8 from 16x16 and 16x8, in PTX's fragments; all lanes of the wave call together
//	mma_s8(d, a, b)              the same of signed bytes, 32 deep; mma_s8_16(d, a, b): 16 deep, a[2] and one word b
//	bf16_pair(x, y)              two bf16 in a word, x in the low half
//
// Kernels that need matrix units are in files of their own, *_mma*.gpu, which are not compiled for HIP: launches choose them where Card says
// MMA. Those of packed weights give the same bits as the kernels without, those of F16 and BF16 weights differ in the last.
//
// # Rules
//
//   - Every size of a batch is read from device memory (struct batch), so that a recorded launch never changes: kernels are launched for
//     the most rows and leave early.
//   - Results are the same run after run: no floating-point atomics, sums in an order that shapes alone decide.
//   - Structs of arguments have Go mirrors whose layout a test compares with what a C++ compiler says of the header.
package gpu
