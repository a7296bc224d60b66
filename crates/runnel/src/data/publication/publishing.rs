//! Publication of one message: its encodings, its subscribers, and what waits until the publication is unlocked.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_io::Interest;

use super::loaned_buffer::{Frames, LoanedBuffer};
use super::locals::LocalSubscription;
use super::{Outgoing, Publication, Refused, State, WriterGroup};
use crate::data::datagrams::{DatagramLink, SendOutcome};
use crate::data::received::SharedMessage;
use crate::data::subscription::Deferred;
use crate::frame::{Frame, LengthBeyondLimit, MAX_MESSAGE};
use crate::log_output::console;
use crate::rtps::Unsent;
use crate::sync::lock;

/// Work that waits until the publication is unlocked. Dropped values can own anything of the user's, which must not run
/// its `Drop` under the lock.
#[derive(Default)]
pub(super) struct AfterUnlock<'a> {
    /// Datagrams to send.
    pub(super) unsent: Option<Unsent<'a>>,
    pub(super) warning: Option<String>,
    pub(super) deferred: Deferred,
    /// A copy of the message for subscriptions of this process.
    copy: Option<SharedMessage>,
}

impl AfterUnlock<'_> {
    pub(super) fn run(self) {
        drop(self.unsent);
        log_warning(self.warning);
        self.deferred.run();
    }
}

impl Publication {
    /// Publishes a message: as bytes, and by reference to those subscriptions of this process that accept its type. A
    /// keep-all group publishes only if no queue would drop a message.
    ///
    /// # Errors
    /// When no subscriber gets the message.
    pub(crate) fn publish<O: Outgoing>(&self, message: O, group: &WriterGroup) -> Result<(), Refused<O>> {
        // Dropped after the lock: if all receivers have already dropped the message, this is its last handle.
        let shared_message;
        let mut after = AfterUnlock::default();
        let lendable = self.lendable(&message);
        let mut state = lock(&self.state);
        if group.keeps_all()
            && let Some(subscriber) = state.full_for_any_length(group)
        {
            return Err(Refused::Full { subscriber, message, bytes: 0 });
        }
        let shared_type = message.shared_type();
        let by_reference = |local: &LocalSubscription| shared_type.is_some_and(|id| local.core.takes(id));
        let shared = state.locals.iter().filter(|local| by_reference(local)).count();
        let as_bytes = state.is_kept_as_bytes(group) || state.locals.len() > shared;
        let copy = (shared > 0).then_some(&mut after.copy);
        let encoded = self.encode(&mut state, (&message, lendable), group, as_bytes, copy);
        let Frames { mut ros1, cdr } = match encoded {
            Ok(frames) => frames,
            Err(refused) => return Err(refused.with_message(message)),
        };
        if let Some(frame) = cdr {
            after.unsent = self.send_cdr(&mut state, frame, group);
        }
        // A link that was on standby begins to carry messages.
        if ros1.is_none() && state.has_carrying_link(group) {
            ros1 = state.written(&message, None).ok();
            self.count_dropped(u64::from(ros1.is_none()));
        }
        if let Some(frame) = ros1 {
            let takes_bytes = |local: &LocalSubscription| !by_reference(local);
            self.publish_frame(&mut state, frame, group, takes_bytes, &mut after);
        }
        if shared > 0 {
            shared_message = after.copy.take().unwrap_or_else(|| message.into_shared());
            let (until, from) = (group.lifespan_end(), group.info(&self.info));
            for local in state.locals.iter().filter(|local| by_reference(local)) {
                let message = Arc::clone(&shared_message);
                local.core.push_shared(message, local.until(until), from, &mut after.deferred);
            }
        }
        self.note_published(&mut state, group);
        drop(state);
        after.run();
        Ok(())
    }

    /// The message in all encodings that subscribers need, which are written before any subscriber gets one; with
    /// `copy`, also a copy to share if one is needed.
    fn encode<O: Outgoing>(
        &self,
        state: &mut State,
        (message, lendable): (&O, Option<LoanedBuffer>),
        group: &WriterGroup,
        as_bytes: bool,
        copy: Option<&mut Option<SharedMessage>>,
    ) -> Result<Frames, Refused<()>> {
        let ros1 = if as_bytes { Some(self.encode_ros1(state, (message, lendable), group)?) } else { None };
        let copied = match copy {
            Some(copy) => message.copy_to_share().map(|copied| *copy = copied),
            None => Ok(()),
        };
        match copied.and_then(|()| state.written_cdr(message, group)) {
            Ok(cdr) => Ok(Frames { ros1, cdr }),
            Err(error) => {
                ros1.into_iter().for_each(|frame| state.recycle(frame));
                Err(Refused::Conversion(error))
            }
        }
    }

    /// The message in the ROS 1 encoding, if it is not too long and, in a keep-all group, no queue is full.
    fn encode_ros1<O: Outgoing>(
        &self,
        state: &mut State,
        (message, lendable): (&O, Option<LoanedBuffer>),
        group: &WriterGroup,
    ) -> Result<Frame, Refused<()>> {
        let frame = state.written(message, lendable).map_err(Refused::Conversion)?;
        let bytes = frame.as_ref().len();
        LengthBeyondLimit::check(bytes, MAX_MESSAGE).map_err(Refused::TooLong)?;
        if group.keeps_all()
            && let Some(subscriber) = self.slowest_full(state, bytes)
        {
            state.recycle(frame);
            return Err(Refused::Full { subscriber, message: (), bytes });
        }
        Ok(frame)
    }

    /// Counts a published message.
    pub(super) fn note_published(&self, state: &mut State, group: &WriterGroup) {
        state.note_published(group);
        // Only written under this lock.
        self.published.store(self.published() + 1, Ordering::Relaxed);
    }

    pub(super) fn count_dropped(&self, messages: u64) {
        // An atomic addition costs as much as a small message.
        if messages > 0 {
            self.dropped.fetch_add(messages, Ordering::Relaxed);
        }
    }

    /// Gives a frame to ROS 1 links, and to the subscriptions of this process that take it as bytes.
    pub(super) fn publish_frame(
        &self,
        state: &mut State,
        frame: Frame,
        group: &WriterGroup,
        takes_bytes: impl Fn(&LocalSubscription) -> bool,
        after: &mut AfterUnlock<'_>,
    ) {
        debug_assert!(frame.encoding().is_ros1(), "links and datagrams of ROS 1 carry its encoding");
        state.seq = state.seq.wrapping_add(1);
        let writer = group.writer_id();
        state.last_writer = writer;
        let yields_to_keep_all = state.yields_to_keep_all(group);
        for link in state.links.iter_mut().filter(|link| link.carries(writer)) {
            if yields_to_keep_all && link.is_full(frame.as_ref().len()) {
                link.count_drop();
                self.count_dropped(1);
                continue;
            }
            link.before_message(&self.reactor, writer);
            self.count_dropped(link.send_or_queue(&self.reactor, &frame));
        }
        let bytes = frame.as_ref();
        for link in state.datagram_links.iter_mut().filter(|link| link.carries(writer)) {
            after.warning = self.send_datagrams(link, bytes).or(after.warning.take());
        }
        let (until, from) = (group.lifespan_end(), group.info(&self.info));
        for local in state.locals.iter().filter(|local| takes_bytes(local)) {
            local.core.push_frame(&frame, local.until(until), from, &mut after.deferred);
        }
        if state.options.latching {
            state.keep(frame, until);
        } else {
            state.recycle(frame);
        }
    }

    /// Sends a frame as datagrams, if the socket accepts them. Returns a warning to log without the lock.
    pub(super) fn send_datagrams(&self, link: &mut DatagramLink, bytes: &[u8]) -> Option<String> {
        if link.refused {
            return None;
        }
        let outcome = link.send(bytes);
        if outcome == SendOutcome::Sent {
            link.stats.count_framed(bytes.len());
            return None;
        }
        link.stats.count_dropped(1);
        self.count_dropped(1);
        match outcome {
            SendOutcome::TooLong(line) => return Some(line),
            SendOutcome::Refused => {
                link.refused = true;
                // The socket has already reported its error to this thread. The driver polls for writability instead.
                let _ = self.reactor.modify(&*link.socket, link.token, Interest::Both);
            }
            SendOutcome::Sent | SendOutcome::Dropped => {}
        }
        None
    }
}

impl State {
    /// Whether a full queue drops a message of this group, so that it never drops those of a keep-all group.
    fn yields_to_keep_all(&self, group: &WriterGroup) -> bool {
        self.groups.len() > 1 && !group.keeps_all() && self.groups.iter().any(|other| other.keeps_all())
    }

    /// Whether the message is needed as bytes, apart from subscriptions of this process.
    pub(super) fn is_kept_as_bytes(&self, group: &WriterGroup) -> bool {
        self.options.latching || self.has_carrying_link(group)
    }
}

/// Logs a line. The caller holds no lock, since a logger may publish.
pub(super) fn log_warning(warning: Option<String>) {
    if let Some(line) = warning {
        console::warning!("{line}");
    }
}
