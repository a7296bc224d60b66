//! Copy of memory that other processes may write concurrently, by the widest loads of the baseline processor.
//!
//! The language has only loads of one word for such memory, and compilers do not combine them. Therefore the loop is written
//! in assembly. For the compiler it is equivalent to loading each byte atomically (relaxed) and storing it: the values are
//! unspecified, and nothing else depends on them. The processors guarantee that such loads are valid on read-only memory, as
//! the word loads require, too.

#![allow(unsafe_code, reason = "inline assembly, with its bounds checked next to it")]

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicUsize;

/// Bytes per iteration of the loop.
pub(super) const BLOCK: usize = 64;

/// Copies the complete blocks of the bytes of `words` after byte `skipped` that fit into `to`. Returns the number of bytes: 0
/// for processors without a loop, and under Miri, which runs no assembly. The caller copies the rest.
#[inline]
pub(super) fn copy_blocks(words: &[AtomicUsize], skipped: usize, to: &mut [MaybeUninit<u8>]) -> usize {
    let blocks = size_of_val(words).saturating_sub(skipped).min(to.len()) / BLOCK;
    if blocks == 0 {
        return 0;
    }
    let (from, to) = (words.as_ptr().cast::<u8>().wrapping_add(skipped), to.as_mut_ptr().cast::<u8>());
    // SAFETY of both: `words` has this number of blocks after its first `skipped` bytes, valid while it is borrowed; `to` has
    // capacity for them and is borrowed exclusively. Changed flags and registers are declared.
    cfg_select! {
        all(target_arch = "x86_64", target_feature = "sse2", not(miri)) => unsafe {
            core::arch::asm!(
                "2:",
                "movdqu {a}, xmmword ptr [{from}]",
                "movdqu {b}, xmmword ptr [{from} + 16]",
                "movdqu {c}, xmmword ptr [{from} + 32]",
                "movdqu {d}, xmmword ptr [{from} + 48]",
                "movdqu xmmword ptr [{to}], {a}",
                "movdqu xmmword ptr [{to} + 16], {b}",
                "movdqu xmmword ptr [{to} + 32], {c}",
                "movdqu xmmword ptr [{to} + 48], {d}",
                "add {from}, 64",
                "add {to}, 64",
                "sub {blocks}, 1",
                "jnz 2b",
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                blocks = inout(reg) blocks => _,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack),
            );
            blocks * BLOCK
        },
        all(target_arch = "aarch64", target_feature = "neon", not(miri)) => unsafe {
            core::arch::asm!(
                "2:",
                "ldp {a:q}, {b:q}, [{from}]",
                "ldp {c:q}, {d:q}, [{from}, #32]",
                "stp {a:q}, {b:q}, [{to}]",
                "stp {c:q}, {d:q}, [{to}, #32]",
                "add {from}, {from}, #64",
                "add {to}, {to}, #64",
                "subs {blocks}, {blocks}, #1",
                "b.ne 2b",
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                blocks = inout(reg) blocks => _,
                a = out(vreg) _,
                b = out(vreg) _,
                c = out(vreg) _,
                d = out(vreg) _,
                options(nostack),
            );
            blocks * BLOCK
        },
        _ => {
            let _ = (from, to);
            0
        }
    }
}
