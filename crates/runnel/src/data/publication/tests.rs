use std::any::TypeId;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::super::qos_events::QosEvents;
use super::super::received::SharedMessage;
use super::super::subscription::{Delivery, SubscriptionCore, SubscriptionSpec, Unreadable};
use crate::data::bridge_node::bridge_node_name;
use crate::error::ConversionError;
use crate::ready::Dispatch;
use crate::rtps::tests::sending::{before_sending, pair};
use crate::rtps::{Rtps, Writer};
use crate::sync::try_lock;
use runnel_core::qos::QoS;
use runnel_core::wire::{Encoding, GrowingSink, decode_into};
use runnel_io::{Datagrams, Token};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::SubscriberLink;
use runnel_ros1::udpros::Fragmenter;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};
use runnel_testkit::namespace::require_private_network;

use super::*;

const BOUND: QueueBound = QueueBound { messages: 1, bytes: 1000 };

fn publication() -> Arc<Publication> {
    let options = PublicationOptions { bound: BOUND, latching: false, has_header: false };
    let info = LinkInfo { publisher: "/talker".into(), md5: "1".into(), ..LinkInfo::default() };
    Arc::new(Publication::new(options, info, Arc::new(Reactor::new().unwrap()), Arc::new(Pool::new(0, 0))))
}

fn subscription(md5: &str) -> Arc<SubscriptionCore> {
    subscription_with(md5, |_| Ok(()))
}

fn subscription_with(
    md5: &str,
    callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
) -> Arc<SubscriptionCore> {
    let (topic, type_name, md5) = ("/data".into(), "a/B".into(), md5.into());
    let takes = Some(TypeId::of::<Ending>());
    SubscriptionCore::new(
        SubscriptionSpec {
            topic,
            type_name,
            md5,
            type_hash: String::new(),
            bound: BOUND,
            deadline: None,
            wants_info: false,
            keeps_all: false,
            takes,
            fixed_len: None,
        },
        Dispatch::Inline,
        QosEvents::default(),
        callback,
    )
}

/// A message whose `Drop` records whether the publication is unlocked.
struct Ending {
    publication: Arc<Publication>,
    ended_unlocked: Arc<AtomicBool>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.ended_unlocked.store(try_lock(&self.publication.state).is_some(), Ordering::SeqCst);
    }
}

impl Outgoing for Ending {
    fn shared_type(&self) -> Option<TypeId> {
        Some(TypeId::of::<Self>())
    }
    fn wire_len(&self) -> usize {
        0
    }
    fn write(&self, _: &mut GrowingSink) -> Result<(), ConversionError> {
        Ok(())
    }
    fn write_cdr(&self, _: &mut GrowingSink) -> Result<(), ConversionError> {
        Ok(())
    }
    fn write_slice(&self, out: &mut [u8]) -> bool {
        out.is_empty()
    }
    fn into_shared(self) -> SharedMessage {
        Arc::new(self)
    }
}

#[test]
fn message_is_dropped_without_lock() {
    let (publication, subscription) = (publication(), subscription("1"));
    publication.join_local(Arc::clone(&subscription));
    // An ended subscription takes nothing, like one that the user drops at the same time.
    subscription.end();
    let ended_unlocked = Arc::new(AtomicBool::new(false));
    let message =
        Ending { publication: Arc::clone(&publication), ended_unlocked: Arc::clone(&ended_unlocked) };
    assert!(publication.publish(message, &WriterGroup::default()).is_ok());
    assert!(ended_unlocked.load(Ordering::SeqCst));
}

thread_local! {
    /// The publication about which this thread logs, and whether it was unlocked at each line.
    static LOGGED: RefCell<Option<(Arc<Publication>, Vec<bool>)>> = const { RefCell::new(None) };
}

struct Looking;

impl log::Log for Looking {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, _: &log::Record<'_>) {
        LOGGED.with_borrow_mut(|logged| {
            if let Some((publication, unlocked)) = logged {
                unlocked.push(try_lock(&publication.state).is_some());
            }
        });
    }
    fn flush(&self) {}
}

/// Logs, and returns for each line whether the publication was unlocked.
fn unlocked_at_lines(publication: &Arc<Publication>, logs: impl FnOnce()) -> Vec<bool> {
    static LOGGER: Once = Once::new();
    LOGGER.call_once(|| {
        log::set_logger(&Looking).unwrap();
        log::set_max_level(log::LevelFilter::Error);
    });
    LOGGED.set(Some((Arc::clone(publication), Vec::new())));
    logs();
    LOGGED.take().unwrap().1
}

#[test]
fn type_mismatch_is_logged_without_lock() {
    let publication = publication();
    let unlocked = unlocked_at_lines(&publication, || publication.join_local(subscription("2")));
    assert_eq!((unlocked, publication.subscriber_count(&WriterGroup::default())), (vec![true], 0));
}

/// The library's own subscriptions run inline. The program's logger may publish the line, which locks the publication.
#[test]
fn malformed_local_message_is_logged_without_lock() {
    let publication = publication();
    publication.apply_options(&PublicationOptions { bound: BOUND, latching: true, has_header: false });
    let malformed = || subscription_with("1", |_| Ok(decode_into(&mut 0_u64, &[])?));
    publication.join_local(malformed());
    let unlocked = unlocked_at_lines(&publication, || {
        assert!(publication.publish(Byte, &WriterGroup::default()).is_ok())
    });
    assert_eq!(unlocked, [true], "one that is published");
    let unlocked = unlocked_at_lines(&publication, || publication.join_local(malformed()));
    assert_eq!(unlocked, [true], "one that was kept");
}

/// Joins a UDPROS subscriber, and returns its socket.
fn join_datagrams(publication: &Publication, dual_node_id: Option<u64>) -> Datagrams {
    let far = Datagrams::bind(SocketAddr::from(([127, 0, 0, 1], 0)).ip()).unwrap();
    let link = SubscriberLink {
        topic: "/data".into(),
        conn: ConnId(1),
        subscriber: "/listener".into(),
        answer: Vec::new(),
        datagrams: None,
        same_host: None,
        delivery: None,
        dual_node_id,
        stats: Arc::default(),
    };
    let near = Arc::new(Datagrams::connect(far.address()).unwrap());
    publication.join_datagrams(link, Fragmenter::new(1, 1000), Token(1), near);
    far
}

#[test]
fn udpros_subscriber_is_found_by_name() {
    let publication = publication();
    let _far = join_datagrams(&publication, None);
    assert!(publication.has_subscriber("/listener") && !publication.has_subscriber("/other"));
}

#[test]
fn subscriber_in_both_graphs_counts_once() {
    let publication = publication();
    let group = publication.writer_group(QoS::default(), &Arc::default());
    let reader = Guid { prefix: GuidPrefix([1; 12]), entity: EntityId::user_reader(1) };
    group.on_reader_matched(reader, Some(5));
    assert_eq!(publication.subscriber_count(&group), 1);
    let _far = join_datagrams(&publication, Some(5));
    assert_eq!(publication.subscriber_count(&group), 1);
    publication.leave(ConnId(1));
    assert_eq!(publication.subscriber_count(&group), 1);
    group.on_reader_left(reader);
    assert_eq!(publication.subscriber_count(&group), 0);
}

/// Neither a subscriber in both graphs nor another bridge gets messages from a bridge, by whichever transport.
#[test]
fn udpros_subscriber_is_excluded_from_bridges_as_others() {
    let bridge = bridge_node_name(1);
    for (publisher, dual_node_id, is_excluded) in
        [(&*bridge, Some(5), true), (&*bridge, None, false), ("/talker", Some(5), false)]
    {
        let options = PublicationOptions { bound: BOUND, latching: true, has_header: false };
        let info = LinkInfo { publisher: publisher.to_owned(), md5: "1".into(), ..LinkInfo::default() };
        let (reactor, pool) = (Arc::new(Reactor::new().unwrap()), Arc::new(Pool::new(0, 0)));
        let publication = Arc::new(Publication::new(options, info, reactor, pool));
        let group = publication.writer_group(QoS::default(), &Arc::default());
        assert!(publication.publish(Byte, &group).is_ok());
        let _far = join_datagrams(&publication, dual_node_id);
        assert!(publication.publish(Byte, &group).is_ok());
        let state = lock(&publication.state);
        let stats = &state.datagram_links[0].stats;
        assert_eq!(stats.messages() > 0, !is_excluded, "{publisher} {dual_node_id:?}");
        assert_eq!(state.subscriber_count(&group), usize::from(!is_excluded));
    }
}

/// A message of one byte.
struct Byte;

impl Outgoing for Byte {
    fn shared_type(&self) -> Option<TypeId> {
        None
    }
    fn wire_len(&self) -> usize {
        1
    }
    fn write(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        out.extend_from_slice(&[1]);
        Ok(())
    }
    fn write_cdr(&self, _: &mut GrowingSink) -> Result<(), ConversionError> {
        Ok(())
    }
    fn write_slice(&self, out: &mut [u8]) -> bool {
        out == [1]
    }
    fn into_shared(self) -> SharedMessage {
        Arc::new(())
    }
}

/// A message during whose serialization the writer becomes full, as an acknowledgement can make it.
struct Filling {
    rtps: Arc<Rtps>,
    writer: Arc<Writer>,
    /// The last number of the full writer.
    number: Arc<AtomicU64>,
}

impl Outgoing for Filling {
    fn shared_type(&self) -> Option<TypeId> {
        None
    }
    fn wire_len(&self) -> usize {
        1
    }
    fn write(&self, _: &mut GrowingSink) -> Result<(), ConversionError> {
        Ok(())
    }
    fn write_cdr(&self, _: &mut GrowingSink) -> Result<(), ConversionError> {
        while self.writer.full().is_none() {
            drop(self.rtps.write(&self.writer, Frame::new(Encoding::Xcdr1, vec![0, 1, 0, 0, 1])));
        }
        self.number.store(self.writer.last_number().unwrap(), Ordering::SeqCst);
        Ok(())
    }
    fn write_slice(&self, _: &mut [u8]) -> bool {
        false
    }
    fn into_shared(self) -> SharedMessage {
        Arc::new(())
    }
}

#[test]
fn admitted_message_is_written_to_full_writer() {
    require_private_network();
    let (rtps, _reader, writer) = pair(78, QoS::keep_all());
    let publication = publication();
    let group = publication.writer_group(QoS::keep_all(), &Arc::default());
    group.set_writer(RtpsWriter::new(Arc::clone(&rtps), Arc::clone(&writer)));
    group.on_reader_matched(Guid { prefix: GuidPrefix([1; 12]), entity: EntityId::user_reader(1) }, None);
    let number = Arc::new(AtomicU64::new(0));
    let message = Filling { rtps, writer: Arc::clone(&writer), number: Arc::clone(&number) };
    assert!(publication.publish(message, &group).is_ok());
    assert_eq!(writer.last_number(), Some(number.load(Ordering::SeqCst) + 1));
}

#[test]
fn messages_reuse_memory_of_frames() {
    for (latching, frames) in [(false, 1), (true, 2)] {
        let publication = publication();
        lock(&publication.state).options.latching = latching;
        publication.join_local(subscription("1"));
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..10 {
            assert!(publication.publish(Byte, &WriterGroup::default()).is_ok());
            let state = &mut *lock(&publication.state);
            let thread_frame = state.pool.filled(true, |_| {});
            places.insert(
                state.latched.as_ref().map_or(thread_frame.as_ptr(), |kept| kept.frame.as_ref().as_ptr()),
            );
            state.pool.recycle(thread_frame);
        }
        assert!(places.len() <= frames, "{places:?}");
    }
}

#[test]
fn subscription_matched_in_both_graphs_gets_messages_once() {
    for ros1_first in [true, false] {
        let (publication, subscription) = (publication(), subscription("1"));
        let join = || publication.join_local(Arc::clone(&subscription));
        let match_it = || publication.match_local(Arc::clone(&subscription), false);
        if ros1_first {
            join();
        }
        match_it();
        join();
        assert!(publication.publish(Byte, &WriterGroup::default()).is_ok());
        assert_eq!((publication.subscriber_count(&WriterGroup::default()), subscription.received()), (1, 1));
        publication.leave_local(&subscription);
        assert!(publication.publish(Byte, &WriterGroup::default()).is_ok());
        assert_eq!((publication.subscriber_count(&WriterGroup::default()), subscription.received()), (1, 2));
        publication.forget_local(&subscription);
        assert_eq!(publication.subscriber_count(&WriterGroup::default()), 0);
    }
}

#[test]
fn kept_messages_are_bounded_and_reuse_memory() {
    let publication = publication();
    publication.keep_earlier();
    let options = PublicationOptions {
        bound: QueueBound { messages: 3, bytes: 1000 },
        latching: true,
        has_header: false,
    };
    publication.apply_options(&options);
    let mut places = std::collections::BTreeSet::new();
    for _ in 0..20 {
        assert!(publication.publish(Byte, &WriterGroup::default()).is_ok());
        let state = lock(&publication.state);
        places.insert(state.latched.as_ref().map(|kept| kept.frame.as_ref().as_ptr()));
    }
    assert!(places.len() <= 4, "{places:?}");
    let kept = |most| lock(&publication.state).kept(most, |_| true).count();
    assert_eq!([kept(0), kept(2), kept(10)], [0, 2, 3]);
}

#[test]
fn publication_is_unlocked_while_rtps_sends() {
    require_private_network();
    let (rtps, _reader, writer) = pair(73, QoS::keep_last(10).best_effort());
    let publication = publication();
    let group = publication.writer_group(QoS::default(), &Arc::default());
    group.set_writer(RtpsWriter::new(Arc::clone(&rtps), writer));
    group.on_reader_matched(Guid { prefix: GuidPrefix([1; 12]), entity: EntityId::user_reader(1) }, None);
    let (sent, seen) = std::sync::mpsc::channel();
    let sending = Arc::downgrade(&publication);
    before_sending(&rtps, move || {
        let is_free = sending.upgrade().is_some_and(|publication| try_lock(&publication.state).is_some());
        sent.send(is_free).unwrap();
    });
    assert!(publication.publish(Byte, &group).is_ok());
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [true]);
    let mut buffer = publication.loan(1, Encoding::Xcdr1).unwrap();
    *buffer.bytes_mut().last_mut().unwrap() = 1;
    let loan = WrittenLoan { buffer, convert: &|_, _, _| Ok(()) };
    assert!(publication.publish_loan(loan, &group).is_ok());
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [true]);
}
