/* SPDX-License-Identifier: MIT */
/* kernel.h - what the event headers of a kernel 6.12 need of the rest of it, made up: for kernel.c and nothing else */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/tracepoint.h>

#define CONFIG_SMP 1
#define NSEC_PER_SEC 1000000000l
#define NSEC_PER_USEC 1000l
#define BITS_PER_LONG 64
#define BUG_ON(x)		((void)(x))
#define IS_ENABLED(x)		0
#define READ_ONCE(x)		(x)
#define min(a, b)		((a) < (b) ? (a) : (b))
#define lockdep_assert_held(x)	((void)0)
#define __user

typedef s64 ktime_t;
typedef u64 sector_t;
typedef unsigned int gfp_t, blk_opf_t, blk_status_t;

/* ---- Interrupts and timers */
enum {
	HI_SOFTIRQ, TIMER_SOFTIRQ, NET_TX_SOFTIRQ, NET_RX_SOFTIRQ, BLOCK_SOFTIRQ, IRQ_POLL_SOFTIRQ, TASKLET_SOFTIRQ,
		SCHED_SOFTIRQ, HRTIMER_SOFTIRQ, RCU_SOFTIRQ
};
struct tasklet_struct { void *func; };
struct irqaction { const char *name; };
struct timer_list { void *function; unsigned long expires; u32 flags; };
#define TIMER_CPUMASK		0x3ffffu
#define TIMER_DEFERRABLE	0x80000u
#define TIMER_PINNED		0x100000u
#define TIMER_IRQSAFE		0x200000u
#define TIMER_ARRAYMASK		0xffc00000u
#define TIMER_MIGRATING		0x40000u
#define TIMER_ARRAYSHIFT	22
static const unsigned long jiffies = 100;
enum hrtimer_mode {
	HRTIMER_MODE_ABS, HRTIMER_MODE_REL, HRTIMER_MODE_PINNED, HRTIMER_MODE_ABS_PINNED, HRTIMER_MODE_REL_PINNED,
	HRTIMER_MODE_SOFT = 4,
	HRTIMER_MODE_ABS_SOFT = 4, HRTIMER_MODE_REL_SOFT, HRTIMER_MODE_ABS_PINNED_SOFT, HRTIMER_MODE_REL_PINNED_SOFT,
	HRTIMER_MODE_HARD = 8,
	HRTIMER_MODE_ABS_HARD = 8, HRTIMER_MODE_REL_HARD, HRTIMER_MODE_ABS_PINNED_HARD, HRTIMER_MODE_REL_PINNED_HARD
};
struct hrtimer { void *function; ktime_t expires; };
#define hrtimer_get_expires(t)		((t)->expires)
#define hrtimer_get_softexpires(t)	((t)->expires)
struct timespec64 { s64 tv_sec; long tv_nsec; };
struct itimerspec64 { struct timespec64 it_interval, it_value; };
struct pid { int nr; };
#define pid_nr(p)	((p)->nr)
#define pid_nr_ns(p, ns)	((p)->nr)

/* ---- Tasks and signals */
struct mm_struct { unsigned long numa_scan_offset; };
struct sched_entity { u64 vruntime; };
struct task_struct { char comm[16]; int pid, tgid, prio, normal_prio, exit_state; unsigned int state,
	__state; struct mm_struct *mm; int rt_priority; struct task_struct *group_leader; };
static struct task_struct __attribute__((unused)) *const current = &(struct task_struct){ .comm = "me", .pid = 1,
	.prio = 120 };
#define TASK_RUNNING		0
#define TASK_INTERRUPTIBLE	1
#define TASK_UNINTERRUPTIBLE	2
#define __TASK_STOPPED		4
#define __TASK_TRACED		8
#define EXIT_DEAD		0x10
#define EXIT_ZOMBIE		0x20
#define TASK_PARKED		0x40
#define TASK_DEAD		0x80
#define TASK_REPORT		0x7f
#define TASK_REPORT_IDLE	0x80
#define TASK_REPORT_MAX		0x100
#define __task_state_index(state, exit_state)	((void)(exit_state), state)
#define task_cpu(p)		((void)(p), 1)
#define task_tgid_nr(p)		((p)->tgid)
#define task_pid_nr(p)		((p)->pid)
#define task_numa_group_id(p)	((void)(p), 0)
#define cpu_to_node(c)		((void)(c), 0)
#define thread_group_leader(p)	((p)->pid == (p)->tgid)
#define rt_or_dl_prio(p)	((p) < 100)
struct linux_binprm { const char *filename, *interp; };
struct kthread_work { void *func; };
struct kthread_worker { int x; };
typedef void (*kthread_work_func_t)(struct kthread_work *);
struct rq; struct cfs_rq; struct root_domain; struct perf_domain; struct vm_area_struct { unsigned long vm_start,
	vm_end; };
enum numa_vmaskip_reason { NUMAB_SKIP_UNSUITABLE, NUMAB_SKIP_SHARED_RO, NUMAB_SKIP_INACCESSIBLE, NUMAB_SKIP_SCAN_DELAY,
	NUMAB_SKIP_PID_INACTIVE, NUMAB_SKIP_IGNORE_PID, NUMAB_SKIP_SEQ_COMPLETED };
struct kernel_siginfo { int si_errno, si_code; };
struct k_sigaction { struct { unsigned long sa_flags; void *sa_handler; } sa; };
#define SEND_SIG_NOINFO		((struct kernel_siginfo *)0)
#define SEND_SIG_PRIV		((struct kernel_siginfo *)1)
#define SI_USER			0
#define SI_KERNEL		0x80

/* ---- Blocks */
#define MAJOR(dev)	((unsigned int)((dev) >> 20))
#define MINOR(dev)	((unsigned int)((dev) & 0xfffff))
enum { IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT, IOPRIO_CLASS_BE, IOPRIO_CLASS_IDLE, IOPRIO_CLASS_INVALID = 7 };
#define IOPRIO_PRIO_CLASS(p)	((p) >> 13)
#define IOPRIO_PRIO_HINT(p)	((p) >> 3 & 0x3ff)
#define IOPRIO_PRIO_LEVEL(p)	((p) & 7)
struct block_device { unsigned int bd_dev; };
struct buffer_head { struct block_device *b_bdev; sector_t b_blocknr; size_t b_size; };
struct gendisk { unsigned int dev; };
struct request_queue { struct gendisk *disk; };
struct bio {
	struct { sector_t bi_sector; } bi_iter; struct block_device *bi_bdev;
	blk_opf_t bi_opf; blk_status_t bi_status; unsigned short bi_ioprio; };
struct request { struct request_queue *q; struct bio *bio; blk_opf_t cmd_flags; unsigned short ioprio; };
#define disk_devt(d)			((d)->dev)
#define bio_dev(b)			((b)->bi_bdev->bd_dev)
#define bio_sectors(b)			((void)(b), 8u)
#define blk_rq_trace_sector(r)		((void)(r), (sector_t)0)
#define blk_rq_trace_nr_sectors(r)	((void)(r), 8u)
#define blk_rq_bytes(r)			((void)(r), 4096u)
#define blk_rq_pos(r)			((void)(r), (sector_t)0)
#define blk_rq_sectors(r)		((void)(r), 8u)
#define blk_rq_count_bios(r)		((void)(r), 1u)
#define req_get_ioprio(r)		((r)->ioprio)
#define blk_status_to_errno(s)		((int)(s))
#define blk_fill_rwbs(to, flags)	((void)(flags), strcpy(to, "R"))
#define __blk_dump_cmd(cmd, len)	"-"
#define BLK_MAX_CDB 32

#endif
