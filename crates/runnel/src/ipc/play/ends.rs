//! Ends of an IPC connection, made like those of the driver.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel_io::memory::{ForeignWords, SharedWords};
use runnel_io::unix::UnixAddress;
use runnel_io::{Doorbell, PacketListener, Packets, Ringer};

use crate::ipc::{Inbox, IpcFault, Outbox, Pool, Receiver, RecordEvent, Sender};

/// One end of an IPC connection, and the page with its process's sleep flag.
pub(crate) struct End {
    pub(crate) sender: Arc<Sender>,
    pub(crate) receiver: Receiver,
    _bells: [Doorbell; 2],
    _page: SharedWords,
}

/// An end without its page.
type Parts = (Arc<Sender>, Receiver, [Doorbell; 2]);

/// The memory that one end shares with the other.
pub(super) struct Memory<'a> {
    pub(super) page: BorrowedFd<'a>,
    pub(super) outbox: BorrowedFd<'a>,
}

/// Two honest processes with an IPC connection. The first one uses `pool`.
pub(crate) fn connect(pool: &Arc<Pool>) -> (End, End) {
    let (one, other) = packets();
    let (outboxes, pages) = ([outbox(), outbox()], [page(), page()]);
    let memory = |index: usize| Memory { page: pages[index].fd(), outbox: outboxes[index].memory().fd() };
    let (of_one, of_other) = (memory(0), memory(1));
    let first = parts(&outboxes[0], of_other, one, pool);
    let second = parts(&outboxes[1], of_one, other, &Arc::new(Pool::new(0, 0)));
    let [first_page, second_page] = pages;
    (with_page(first, first_page), with_page(second, second_page))
}

/// The end of an honest process towards any peer.
pub(super) fn end(memory: Memory<'_>, packets: Packets, pool: &Arc<Pool>) -> (End, Arc<Outbox>) {
    let own = outbox();
    let parts = parts(&own, memory, packets, pool);
    (with_page(parts, page()), own)
}

fn with_page((sender, receiver, bells): Parts, page: SharedWords) -> End {
    End { sender, receiver, _bells: bells, _page: page }
}

fn parts(own: &Arc<Outbox>, peer: Memory<'_>, packets: Packets, pool: &Arc<Pool>) -> Parts {
    let foreign = |fd: BorrowedFd<'_>, at_least: usize| {
        let fd = fd.try_clone_to_owned().expect("descriptors");
        ForeignWords::map(fd, at_least, at_least + (1 << 16)).expect("memory")
    };
    let (inbox, page) = (Arc::new(Inbox::new(foreign(peer.outbox, Inbox::BYTES))), foreign(peer.page, 8));
    let (same_user, packets) = (packets.same_user(), Arc::new(packets));
    assert!(same_user.is_some(), "a process of the same user");
    let memory = (Arc::clone(own), Arc::clone(&inbox));
    let (bells, ringers) = bells();
    let sender = Sender::new(memory, page, ringers, Arc::clone(&packets), Arc::clone(pool));
    (Arc::new(sender), Receiver::new(Arc::clone(own), inbox, packets, same_user), bells)
}

/// Doorbells without a waiting process, and their ringing ends.
fn bells() -> ([Doorbell; 2], (Ringer, Arc<Ringer>)) {
    let pair = || Doorbell::pair().expect("descriptors");
    let ((peer, ringer), (own, own_ringer)) = (pair(), pair());
    ([peer, own], (ringer, Arc::new(own_ringer)))
}

pub(super) fn page() -> SharedWords {
    SharedWords::new("runnel-page", 8).expect("memory")
}

fn outbox() -> Arc<Outbox> {
    Arc::new(Outbox::new().expect("memory"))
}

/// Both ends of a socket connection.
pub(super) fn packets() -> (Packets, Packets) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("runnel-play-{}-{count}", std::process::id());
    let listener = PacketListener::bind(UnixAddress::Abstract(name.as_bytes())).expect("a name");
    let one = Packets::connect(UnixAddress::Abstract(name.as_bytes())).expect("a listener");
    let other = listener.accept().expect("a connection").expect("one that has connected");
    (one, other)
}

impl End {
    /// Reads the packets that the peer sent on its socket. An error is the end of the IPC connection.
    pub(super) fn take_packets(&mut self) -> Result<(), Option<IpcFault>> {
        for _ in 0..100 {
            match self.receiver.packet() {
                Ok(true) => self.sender.ring(),
                Ok(false) => break,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// The next record, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<RecordEvent>, Option<IpcFault>> {
        let Some(record) = self.receiver.peek().map_err(Some)? else { return Ok(None) };
        let event = self.receiver.decode(&record).map_err(Some)?;
        self.receiver.pass(&record);
        Ok(Some(event))
    }
}
