//! Service end: the reader and the writer of a server or a client in ROS 2, as parts of the data plane. So their messages
//! go to processes of this host by shared memory like those of topics.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_io::Reactor;
use runnel_rtps::NotSent;
use runnel_rtps::wire::{Guid, SampleIdentity};

use crate::data::{
    Delivery, LinkInfo, Publication, PublicationOptions, QosEvents, RtpsWriter, SubscriptionCore,
    SubscriptionSpec, WriterGroup,
};
use crate::frame::{Frame, QueueBound};
use crate::ipc::Pool;
use crate::ready::Dispatch;
use crate::rtps::{Rtps, ServiceEnds};

/// Limit of the messages that wait for one peer in shared memory.
const BOUND: QueueBound = QueueBound { messages: 1000, bytes: 64 << 20 };

/// Stands for any type.
const ANY: &str = "*";

/// What messages in shared memory need of the context.
pub(crate) type ServiceMemory = (Arc<Reactor>, Arc<Pool>);

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct ServiceEnd {
    pub(crate) rtps: Arc<Rtps>,
    pub(crate) ends: ServiceEnds,
    pub(crate) group: Arc<WriterGroup>,
    publication: Arc<Publication>,
    /// Gets the messages of peers that send by shared memory.
    pub(crate) input: Arc<SubscriptionCore>,
}

impl ServiceEnd {
    /// The end of a service with these endpoints. `receive` gets each message that does not come by RTPS alone, with its
    /// writer, on the thread that polls.
    pub(crate) fn new(
        service: &str,
        (rtps, ends): (Arc<Rtps>, ServiceEnds),
        (reactor, pool): ServiceMemory,
        receive: impl Fn(Guid, Vec<u8>) + Send + 'static,
    ) -> Self {
        let info = LinkInfo { publisher: service.to_owned(), md5: ANY.to_owned(), ..LinkInfo::default() };
        let options = PublicationOptions { bound: BOUND, latching: false, has_header: false };
        let publication = Arc::new(Publication::new(options, info, reactor, pool));
        let group = publication.writer_group(QoS::default(), &Arc::new(QosEvents::default()));
        group.set_writer(RtpsWriter::new(Arc::clone(&rtps), Arc::clone(&ends.writer)));
        let spec = SubscriptionSpec {
            bound: BOUND,
            deadline: None,
            wants_info: false,
            keeps_all: false,
            topic: service.to_owned(),
            type_name: ANY.to_owned(),
            md5: ANY.to_owned(),
            type_hash: String::new(),
            takes: None,
            fixed_len: None,
        };
        let input = SubscriptionCore::new(spec, Dispatch::Inline, QosEvents::default(), move |delivery| {
            if let Delivery::Bytes { bytes, from, .. } = delivery
                && let Some(gid) = from.gid
                && let Ok(payload) = bytes.bytes().try_to_vec()
            {
                receive(Guid::from_bytes(gid.0), payload);
            }
            Ok(())
        });
        Self { rtps, ends, group, publication, input }
    }

    /// Sends a message to one matched reader; returns its number.
    ///
    /// # Errors
    /// The reader is not matched, or does not keep pace.
    pub(crate) fn send(&self, frame: &Frame, to: (Guid, Option<SampleIdentity>)) -> Result<u64, NotSent> {
        self.publication.send_to(&self.group, frame, to)
    }

    /// Whether all messages to matched readers have arrived, on whichever path.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.group.is_acknowledged()
    }
}
