/* SPDX-License-Identifier: MIT */
/* frames.h - the frames of frames.S, for patch/bytes/frames.c, and the offsets of addresses in made code */
#ifndef UFT_X86_64_FRAMES_H
#define UFT_X86_64_FRAMES_H

#define UFT_FRAME_BYTES		64
#define UFT_FRAME_PLACES	25	/* bytes of the program that may have moved, and one behind them */
#define UFT_FRAME_CODE_ADDR	80	/* in the 128 bytes of an unprepared function: the address of its site */
#define UFT_FRAME_CODE_SLOT	88	/* and the target of jumps */
#define UFT_FRAME_HOOK_ADDR	56	/* in the 64 bytes of a hook's stub: the hook's address */

#ifndef __ASSEMBLER__
enum uft_frame {
	UFT_FRAME_RETURN,	/* the return address is at (rsp) */
	UFT_FRAME_RETURN_RAX,	/* at 8(%rsp) */
	UFT_FRAME_HELD,		/* at -8(%rsp) */
	UFT_FRAME_STUB,		/* of a prepared site: the target of the stub's second call */
	UFT_FRAME_STUB_CODE,	/* of an unprepared function: the site whose code the second call leads to */
	/* a jump in a pad: the site's address lies in front of its target */
	UFT_FRAME_PAD,
	UFT_FRAME_PUN,		/* the target of a jump that ends in bytes of the program (patch/bytes/punned_jump.c) */
	UFT_FRAME_HOOK_LOW,	/* below a red zone that was skipped */
	UFT_FRAME_HOOK,		/* + byte of the hooked code */
	UFT_FRAME_CODE = UFT_FRAME_HOOK + UFT_FRAME_PLACES,	/* + byte of the site */
};
extern const char uft_asm_frames[];
#endif

#endif
