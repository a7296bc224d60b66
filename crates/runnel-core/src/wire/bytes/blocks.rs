//! A copy of memory that others write meanwhile, by loads as wide as the processor has for every program.
//!
//! Loads of one word each, which are all that the language has for such memory, are not joined to wider ones by a compiler. So
//! the loop is written in assembly. To the compiler it does what any code could do that loads each byte atomically (relaxed)
//! and stores it: which bits it gets is not known, and nothing else depends on them. That such loads are allowed on memory
//! that may only be read is a promise of the processors, which the words rely on as well.

#![allow(unsafe_code, reason = "inline assembly, with its bounds checked next to it")]

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicUsize;

/// Bytes that are copied at once.
pub(super) const BLOCK: usize = 64;

/// Copies whole blocks of the bytes of `words` from byte `skipped` on, as many as both have room for; how many bytes those are: none
/// where no loop is written for the processor, and under Miri, which runs no assembly. The rest is left to the caller.
#[inline]
pub(super) fn copy_blocks(words: &[AtomicUsize], skipped: usize, to: &mut [MaybeUninit<u8>]) -> usize {
    let blocks = size_of_val(words).saturating_sub(skipped).min(to.len()) / BLOCK;
    if blocks == 0 {
        return 0;
    }
    let (from, to) = (words.as_ptr().cast::<u8>().wrapping_add(skipped), to.as_mut_ptr().cast::<u8>());
    // SAFETY of both: `words` has so many blocks behind its first `skipped` bytes, all of which are there as long as it is
    // borrowed; `to` has room for them, and nobody else refers to it. Flags and registers that change are named.
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
