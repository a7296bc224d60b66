//! Rate at which a stream of messages can be written to a disk, and what it costs, for each method.
//!
//! `disk_rate FOLDER [RATE [SECONDS [BUFFER [BUFFERS [METHODS]]]]]`
//!
//! RATE in MiB/s, 0 for as fast as possible (default 200); SECONDS (default 10); BUFFER in KiB; METHODS a list of
//! `ring`, `thread`, `dontcache`, `writeback`, `plain` (written with no special care), with `+prealloc` reserved space.
//!
//! Messages have 1 MiB. They are flushed once a second. Lateness is how long after its time a message was taken. The
//! processor time is that of this process: for `plain`, the kernel writes the pages in threads of its own.

mod processor;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use runnel_bag::disk::{BlockWriter, Disk, Plain};
use runnel_bag::files;
use runnel_io::clock;
use runnel_io::direct_file::{Method, Options};

const MIB: u64 = 1 << 20;

struct Load {
    rate: u64,
    seconds: u64,
    message: Vec<u8>,
}

struct Reached {
    mib: u64,
    elapsed: Duration,
    lateness: Duration,
    processor: Duration,
    dirty: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |place: usize, default: &str| words.get(place).cloned().unwrap_or_else(|| default.to_owned());
    let number = |place: usize, default: &str| word(place, default).parse::<u64>();
    let path = PathBuf::from(word(0, ".")).join("disk_rate.tmp");
    let load = Load { rate: number(1, "200")?, seconds: number(2, "10")?, message: random_bytes() };
    let options = Options {
        buffer_len: number(3, "1024")? as usize * 1024,
        buffers: number(4, "8")? as usize,
        ..Options::default()
    };
    println!("load {}", fs::read_to_string("/proc/loadavg")?.trim());
    println!("method                    MiB  MiB/s  CPU ms/MiB  Dirty MiB  late ms");
    for name in word(5, "ring,thread,dontcache,writeback,plain").split(',') {
        let reached = measure(name, &path, &options, &load);
        fs::remove_file(&path)?;
        let Reached { mib, elapsed, lateness, processor, dirty } = reached?;
        println!(
            "{name:20} {mib:8} {:6.0} {:11.3} {:10} {:8}",
            mib as f64 / elapsed.as_secs_f64(),
            processor.as_secs_f64() * 1000.0 / mib as f64,
            dirty / 1024,
            lateness.as_millis(),
        );
    }
    Ok(())
}

fn measure(name: &str, path: &Path, options: &Options, load: &Load) -> Result<Reached, Box<dyn Error>> {
    let (name, preallocate) = match name.strip_suffix("+prealloc") {
        Some(name) => (name, options.preallocate),
        None => (name, 0),
    };
    let method = match name {
        "ring" => Method::DirectRing,
        "thread" => Method::DirectThread,
        "dontcache" => Method::DontCache,
        "writeback" => Method::WriteBack,
        "plain" => {
            let file = fs::File::options().write(true).create_new(true).open(path)?;
            return run(BlockWriter::new(Plain::new(file)), load);
        }
        other => return Err(format!("{other}: no such method").into()),
    };
    let file = files::create_with(path, &Options { methods: vec![method], preallocate, ..options.clone() })?;
    run(BlockWriter::new(file), load)
}

/// Writes until the time is over. The file's end is not measured.
fn run<D: Disk>(mut writer: BlockWriter<D>, load: &Load) -> Result<Reached, Box<dyn Error>> {
    let (dirty, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let before = dirty_kib();
    let reached = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                dirty.fetch_max(dirty_kib().saturating_sub(before), Ordering::Relaxed);
                sleep(Duration::from_millis(50));
            }
        });
        let reached = write(&mut writer, load);
        is_over.store(true, Ordering::Relaxed);
        reached
    })?;
    writer.finish()?;
    Ok(Reached { dirty: dirty.into_inner(), ..reached })
}

fn write<D: Disk>(writer: &mut BlockWriter<D>, load: &Load) -> Result<Reached, Box<dyn Error>> {
    let (start, processor) = (clock::monotonic(), processor::time());
    let end = start + Duration::from_secs(load.seconds);
    let (mut mib, mut lateness, mut flush_at) = (0_u64, Duration::ZERO, start + Duration::from_secs(1));
    loop {
        let now = clock::monotonic();
        if let Some(nanos) = (mib * 1_000_000_000).checked_div(load.rate) {
            let due = start + Duration::from_nanos(nanos);
            sleep(due.since(now));
            lateness = lateness.max(clock::monotonic().since(due));
        }
        if now >= end {
            break;
        }
        writer.append(&load.message)?;
        mib += 1;
        if now >= flush_at {
            writer.flush()?;
            flush_at = now + Duration::from_secs(1);
        }
    }
    let elapsed = clock::monotonic().since(start);
    Ok(Reached { mib, elapsed, lateness, processor: processor::time() - processor, dirty: 0 })
}

fn random_bytes() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..MIB).map(|_| next()).collect()
}

/// Pages of the page cache that are to be written, in KiB.
fn dirty_kib() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory.lines().find_map(|line| line.strip_prefix("Dirty:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[expect(clippy::disallowed_methods, reason = "the load has a rate")]
fn sleep(time: Duration) {
    thread::sleep(time);
}
