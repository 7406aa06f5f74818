/* SPDX-License-Identifier: MIT */
/* agent.h - declarations inside runtime/agent/ */
#ifndef UFT_AGENT_H
#define UFT_AGENT_H

#include "runtime/runtime.h"

extern struct uft_boot uft_boot;	/* in boot.c; the session writes into it */

/* command.c */
int agent_session_is_gone(void);		/* 1: requests are not answered any more */
void command_begin(void);			/* a session is there, for the first time or again */
/* has command_leave() run since then, by command or by the agent itself? */
int command_has_left(void);
/* Restores the original code and ends recording. Returns how many sites could not be restored, because threads run. */
int command_leave(int is_held);
/* carries out the command with this number and reports. 1: it was the last one */
int command_serve(uint32_t seq);

int agent_has_files(void);			/* do its descriptors differ from the program's? */

/* creds.c: the agent's credentials follow the target's. */
struct agent_creds {
	int pid;			/* of the target */
	int is_open;
	int status_fd;			/* /proc/PID/status of the target; -1: none */
	uint64_t digest;		/* of the lines as last read */
};
void creds_begin(struct agent_creds *c, int pid);	/* makes no system call */
int creds_follow(struct agent_creds *c);	/* 0, or -errno: the agent has more rights than the target */

/* attach.c: the agent of a process that was attached to starts by itself. */
void agent_isolate(void);		/* takes no signal, keeps no descriptor and no folder of the target */
void agent_spawn(void (*main)(void));	/* from the task in between */
/* Everything is set up: reports that, and serves until the end. @fd as enum uft_boot_fd. */
void agent_serve(const int *fd, uint32_t nfds);

/*
 * Receives a message of the session, if there is one: returns the number of descriptors that came with it, at most
 * UFT_BOOT_NFDS; -EAGAIN, -errno.
 */
int agent_receive(int sock, void *data, size_t bytes, int *fd);
int agent_socket(int pair[2]);

/* boot.c */
/* as boot_hold_spare(), but the family is given by a descriptor, which it closes; 0 or -errno */
int boot_hold_family(int fd, uint64_t *at);
int boot_map_arena(int board, int fd);	/* maps the board and the family of uft_boot.slice, closes both */
int boot_map_board(const char *path);	/* of the session whose files have this name */
/* lists the blob's memory, which a detach unmaps: here the session has mapped it, no loader */
int boot_own_blob(void);
int boot_finish(void);			/* the arena is mapped: does all the rest, except the agent */

long uft_asm_clone(unsigned long flags, void *stack_top, void (*fn)(void));	/* entry.S */

#endif
