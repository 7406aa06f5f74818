// SPDX-License-Identifier: MIT
// panic.rs - for unwind.sh: panics that are caught, and backtraces of Rust's own
use std::{backtrace::Backtrace, hint::black_box, panic};

#[inline(never)]
fn leaf(n: i64) -> i64 {
    if n % 3 == 0 {
        panic!("a third")
    }
    n + 1
}

#[inline(never)]
fn middle(n: i64) -> i64 {
    black_box(leaf(n)) + 1
}

#[inline(never)]
fn outer(n: i64) -> i64 {
    black_box(middle(n)) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {
        let text = Backtrace::force_capture().to_string();
        for f in ["leaf", "middle", "outer", "main"] {
            println!("{} {}", f, text.contains(&format!("panic::{}", f)));
        }
    }));
    let caught = (0..10).filter(|&i| panic::catch_unwind(|| outer(i)).is_err()).count();
    println!("caught {} {}", caught, outer(20));
}
