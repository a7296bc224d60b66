//! Compression of a sequence of chunks, on the calling thread or on threads of their own.

use std::collections::VecDeque;
use std::io;

use crate::Compression;

/// Compresses chunks, and returns them in their order.
///
/// After each [`Compressor::submit`] the caller takes all that [`Compressor::ready`] returns, which bounds the memory.
pub struct Compressor<T> {
    contexts: VecDeque<T>,
    engine: Engine,
}

/// A chunk, and what its user gave with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Compressed<T> {
    /// What was given with the chunk.
    pub context: T,
    /// The chunk's data, compressed.
    pub data: Vec<u8>,
    /// The memory that the chunk had, to be used again.
    pub memory: Vec<u8>,
}

/// The compressed data, and the memory of the chunk.
type Done = (Vec<u8>, Vec<u8>);

/// What compresses.
enum Engine {
    /// The calling thread: results that were not taken.
    Inline(VecDeque<Done>),
    #[cfg(feature = "files")]
    Threads(threads::Threads),
}

impl<T> Default for Compressor<T> {
    fn default() -> Self {
        Self::inline()
    }
}

impl<T> Compressor<T> {
    /// Compresses on the calling thread.
    pub fn inline() -> Self {
        Self { contexts: VecDeque::new(), engine: Engine::Inline(VecDeque::new()) }
    }

    /// Compresses on this many threads of their own, at least one. At most twice as many chunks are in memory.
    ///
    /// # Errors
    /// If a thread cannot be started.
    #[cfg(feature = "files")]
    pub fn with_threads(threads: usize) -> io::Result<Self> {
        let engine = Engine::Threads(threads::Threads::start(threads.max(1))?);
        Ok(Self { contexts: VecDeque::new(), engine })
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// When the calling thread compresses: as [`Compressor::wait`].
    pub fn submit(&mut self, compression: Compression, data: Vec<u8>, context: T) -> io::Result<()> {
        match &mut self.engine {
            Engine::Inline(results) => results.push_back((compression.compress(&data)?, data)),
            #[cfg(feature = "files")]
            Engine::Threads(threads) => threads.submit(compression, data),
        }
        self.contexts.push_back(context);
        Ok(())
    }

    /// The oldest chunk, if it is compressed. Waits for it when there are more chunks than threads can work on.
    ///
    /// # Errors
    /// As [`Compressor::wait`].
    pub fn ready(&mut self) -> io::Result<Option<Compressed<T>>> {
        let done = match &mut self.engine {
            Engine::Inline(results) => Ok(results.pop_front()),
            #[cfg(feature = "files")]
            Engine::Threads(threads) => threads.ready(),
        };
        self.with_context(done)
    }

    /// The oldest chunk. Waits until it is compressed. `None` if there is none.
    ///
    /// # Errors
    /// If compressing it has failed. The chunk is lost.
    pub fn wait(&mut self) -> io::Result<Option<Compressed<T>>> {
        let done = match &mut self.engine {
            Engine::Inline(results) => Ok(results.pop_front()),
            #[cfg(feature = "files")]
            Engine::Threads(threads) => threads.wait(),
        };
        self.with_context(done)
    }

    /// The chunks that have not been taken, the oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &T> {
        self.contexts.iter()
    }

    fn with_context(&mut self, done: io::Result<Option<Done>>) -> io::Result<Option<Compressed<T>>> {
        if matches!(done, Ok(None)) {
            return Ok(None);
        }
        let context = self.contexts.pop_front();
        Ok(context.zip(done?).map(|(context, (data, memory))| Compressed { context, data, memory }))
    }
}

#[cfg(feature = "files")]
mod threads {
    use std::io;

    use runnel_io::workers::Workers;

    use super::Done;
    use crate::Compression;

    /// Chunks for each thread: one that it works on, and one that waits, so that it need not.
    const CHUNKS_PER_THREAD: usize = 2;

    /// Threads, and their limit of chunks.
    pub(super) struct Threads {
        workers: Workers<(Compression, Vec<u8>), io::Result<Done>>,
        most: usize,
    }

    impl Threads {
        pub(super) fn start(threads: usize) -> io::Result<Self> {
            let compress =
                |(compression, data): (Compression, Vec<u8>)| Ok((compression.compress(&data)?, data));
            let workers = Workers::start("runnel-compress", threads, compress)?;
            Ok(Self { workers, most: CHUNKS_PER_THREAD * threads })
        }

        pub(super) fn submit(&mut self, compression: Compression, data: Vec<u8>) {
            self.workers.submit((compression, data));
        }

        pub(super) fn ready(&mut self) -> io::Result<Option<Done>> {
            if self.workers.pending() >= self.most {
                self.wait()
            } else {
                self.workers.try_take()?.transpose()
            }
        }

        pub(super) fn wait(&mut self) -> io::Result<Option<Done>> {
            self.workers.take()?.transpose()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u8) -> Vec<u8> {
        (0..20_000_u32).map(|place| number.wrapping_mul((place % 7) as u8)).collect()
    }

    fn compression(number: u8) -> Compression {
        [Compression::Lz4, Compression::None][usize::from(number) % 2]
    }

    /// Compresses forty chunks; returns the most that were pending after those ready were taken.
    fn compress_all(mut compressor: Compressor<u8>) -> usize {
        let (mut taken, mut most) = (Vec::new(), 0);
        for number in 0..40 {
            compressor.submit(compression(number), chunk(number), number).unwrap();
            taken.extend(std::iter::from_fn(|| compressor.ready().unwrap()));
            most = most.max(compressor.pending().count());
        }
        taken.extend(std::iter::from_fn(|| compressor.wait().unwrap()));
        assert_eq!((taken.len(), compressor.pending().count()), (40, 0));
        for (number, Compressed { context, data, memory }) in (0..).zip(taken) {
            assert_eq!((context, memory), (number, chunk(number)));
            let mut output = Vec::new();
            compression(number).decompress(&data[..], 20_000, &mut output).unwrap();
            assert!(output == chunk(number), "{number}");
        }
        most
    }

    #[test]
    fn calling_thread_compresses_at_once() {
        assert_eq!(compress_all(Compressor::inline()), 0);
    }

    #[cfg(feature = "files")]
    #[test]
    fn threads_keep_the_order_and_the_limit() {
        for threads in [0, 1, 3] {
            let most = compress_all(Compressor::with_threads(threads).unwrap());
            assert!(most < 2 * threads.max(1), "{most} chunks of {threads} threads");
        }
    }
}
