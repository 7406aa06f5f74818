/* SPDX-License-Identifier: MIT */
/* frames.h - the frames of frames.S, for patch/bytes/frames.c; and where made code keeps the place it stands for */
#ifndef UFT_X86_64_FRAMES_H
#define UFT_X86_64_FRAMES_H

#define UFT_FRAME_BYTES		64
#define UFT_FRAME_PLACES	25	/* bytes of the program that may have moved, and the one behind them */
#define UFT_FRAME_CODE_ADDR	80	/* in the 128 bytes of a plain function: the address of its site */
#define UFT_FRAME_CODE_SLOT	88	/* and where jumps lead to */
#define UFT_FRAME_HOOK_ADDR	56	/* in the 64 bytes of a hook's stub: the hook's */

#ifndef __ASSEMBLER__
enum uft_frame {
	UFT_FRAME_RETURN,	/* the return address is at (rsp) */
	UFT_FRAME_RETURN_RAX,	/* at 8(%rsp) */
	UFT_FRAME_HELD,		/* at -8(%rsp) */
	UFT_FRAME_STUB,		/* of a prepared site: where the stub's second call leads */
	UFT_FRAME_STUB_CODE,	/* of a plain function: the site that stands where it leads */
	/* jump of a plain function's site in the padding: where it leads to stands behind whose address */
	UFT_FRAME_PAD,
	UFT_FRAME_PUN,		/* where a jump leads that ends in bytes of the program (patch/bytes/punned_jump.c) */
	UFT_FRAME_HOOK_LOW,	/* behind a red zone that was skipped */
	UFT_FRAME_HOOK,		/* + byte of the hooked code */
	UFT_FRAME_CODE = UFT_FRAME_HOOK + UFT_FRAME_PLACES,	/* + byte of the site */
};
extern const char uft_asm_frames[];
#endif

#endif
