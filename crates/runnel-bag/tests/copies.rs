//! Test that the writer copies the bytes of a message once: into the buffer that the disk writes.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::rc::Rc;

use runnel_bag::disk::Disk;
use runnel_bag::mcap::Profile;
use runnel_bag::{BagWriter, Channel, NewMessage, mcap, rosbag};
use runnel_testkit::counting_allocator::{CountingAllocator, begin_largest_block, largest_block};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Length of a message, and of a buffer of the disk, in bytes.
const MESSAGE: usize = 300_000;
const BUFFER: usize = 1 << 20;

const MESSAGES: u64 = 30;

/// More buffers than the writer has at a time.
const BUFFERS: usize = 4;

/// Buffers that are written at once and used again, and the places of their memory. All exist before the writer, so that
/// a long block that it allocates is not one of them.
struct Buffers {
    free: Vec<Vec<u8>>,
    memory: Vec<Range<usize>>,
    /// Written bytes of messages.
    written: usize,
}

impl Buffers {
    fn new() -> Self {
        let free: Vec<Vec<u8>> = (0..BUFFERS).map(|_| vec![0; BUFFER]).collect();
        let memory = free.iter().map(|buffer| buffer.as_ptr() as usize..buffer.as_ptr() as usize + BUFFER);
        Self { memory: memory.collect(), free, written: 0 }
    }
}

struct PooledDisk(Rc<RefCell<Buffers>>);

impl Disk for PooledDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        512
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.borrow_mut().free.pop().expect("a buffer that is not in use"))
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, _at: u64) -> io::Result<()> {
        let mut buffers = self.0.borrow_mut();
        let start = buffer.as_ptr() as usize;
        assert!(buffers.memory.iter().any(|memory| memory.start == start), "it is not a buffer of the disk");
        buffers.written += buffer[..len].iter().filter(|byte| **byte == 7).count();
        buffers.free.push(buffer);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _len: u64) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn message_is_copied_only_to_the_buffer_of_the_disk() {
    let begin: [fn(PooledDisk) -> Box<dyn BagWriter>; 2] = [
        |disk| Box::new(mcap::Writer::on_disk(disk, Profile::None).unwrap()),
        |disk| Box::new(rosbag::Writer::on_disk(disk).unwrap()),
    ];
    let data = vec![7; MESSAGE];
    for begin in begin {
        let buffers = Rc::new(RefCell::new(Buffers::new()));
        begin_largest_block();
        let mut writer = begin(PooledDisk(Rc::clone(&buffers)));
        let channel =
            writer.add_channel(&Channel { topic: "/image".to_owned(), ..Channel::default() }).unwrap();
        for number in 0..MESSAGES {
            let (log_time, data) = (number, data.as_slice().into());
            let message = NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data };
            writer.write(&message).unwrap();
        }
        let largest = largest_block();
        assert!(largest < MESSAGE / 10, "{largest} bytes were allocated for a message of {MESSAGE}");
        writer.finish().unwrap();
        let written = buffers.borrow().written;
        let expected = MESSAGES as usize * MESSAGE;
        assert!(written >= expected, "{written} of {expected} bytes were written from the buffers");
    }
}
