//! Topics of an end: one publish-subscribe service per topic. Unless the end polls, one event service reports which topic
//! has a message.

use std::env;
use std::error::Error;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{event, publish_subscribe};

use crate::options::{Options, Touch, Wait};
use crate::stamps::{NUMBER, number};
use crate::talk::StopSignal;

/// Time limit for the other end to appear.
const PEER_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval of the checks for the other end.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum number of additional nodes: each end opens one to wake its receiving thread.
const EXTRA_NODES: usize = 16;

type Ipc = ipc::Service;
type Failure = Box<dyn Error>;

/// Open topics of this end, all connected to the same ends.
pub struct Topics {
    messages: Vec<publish_subscribe::PortFactory<Ipc, [u8], ()>>,
    events: event::PortFactory<Ipc>,
    wait: Wait,
    depth: usize,
    size: usize,
    subscribers: usize,
    _node: Node<Ipc>,
}

impl Topics {
    /// Opens or creates one topic of this run.
    ///
    /// # Errors
    /// If iceoryx2 fails; the same in all of these.
    pub fn one(name: &str, options: &Options) -> Result<Self, Failure> {
        Self::open(name, vec![name.to_owned()], options)
    }

    /// Opens the number of topics in the options, each with its index in the name.
    pub fn many(name: &str, options: &Options) -> Result<Self, Failure> {
        match options.topics {
            0 => Self::one(name, options),
            count => Self::open(name, (0..count).map(|index| format!("{name}_{index}")).collect(), options),
        }
    }

    fn open(name: &str, names: Vec<String>, options: &Options) -> Result<Self, Failure> {
        let node = node()?;
        let Options { wait, depth, size, subscribers, .. } = *options;
        let message = |name: &String| -> Result<_, Failure> {
            let builder = node.service_builder(&service(name, "messages")?).publish_subscribe::<[u8]>();
            let builder = builder.subscriber_max_buffer_size(depth).max_publishers(1);
            let nodes = subscribers + EXTRA_NODES;
            Ok(builder.max_subscribers(subscribers).max_nodes(nodes).open_or_create()?)
        };
        let messages = names.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        let nodes = subscribers + EXTRA_NODES;
        let events = node.service_builder(&service(name, "events")?).event();
        let events = events.max_listeners(subscribers).max_notifiers(nodes).max_nodes(2 * nodes);
        let events = events.event_id_max_value(names.len() - 1).open_or_create()?;
        Ok(Self { messages, events, wait, depth, size, subscribers, _node: node })
    }

    /// Creates the publishers.
    pub fn publishers(&self) -> Result<Publishers, Failure> {
        let publisher = |messages: &publish_subscribe::PortFactory<Ipc, [u8], ()>| {
            messages.publisher_builder().initial_max_slice_len(self.size).create()
        };
        let publishers = self.messages.iter().map(publisher).collect::<Result<_, _>>()?;
        let notifier = match self.wait {
            Wait::Event => Some(self.events.notifier_builder().create()?),
            Wait::Poll => None,
        };
        Ok(Publishers { publishers, notifier })
    }

    /// Creates the subscribers.
    pub fn subscribers(&self) -> Result<Subscribers, Failure> {
        // The listener comes first: it must exist when the publishing end sees the subscriber.
        let listener = match self.wait {
            Wait::Event => Some(self.events.listener_builder().create()?),
            Wait::Poll => None,
        };
        let subscriber = |messages: &publish_subscribe::PortFactory<Ipc, [u8], ()>| {
            messages.subscriber_builder().buffer_size(self.depth).create()
        };
        let subscribers = self.messages.iter().map(subscriber).collect::<Result<_, _>>()?;
        Ok(Subscribers { subscribers, listener })
    }

    /// Waits until each topic has its publisher and all subscribers.
    pub fn wait_for_ends(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + PEER_TIMEOUT;
        for messages in &self.messages {
            let config = messages.dynamic_config();
            while config.number_of_publishers() == 0 || config.number_of_subscribers() < self.subscribers {
                if Instant::now() > deadline {
                    return Err(format!("no other end on {}", messages.name()).into());
                }
                thread::sleep(CHECK_INTERVAL);
            }
        }
        Ok(())
    }
}

/// Wakes the thread that waits for messages of a topic; may be called by another thread.
///
/// # Errors
/// If iceoryx2 fails.
pub fn wake(name: &str) -> Result<(), Failure> {
    let node = node()?;
    let events = node.service_builder(&service(name, "events")?).event().open()?;
    events.notifier_builder().create()?.notify()?;
    Ok(())
}

/// Publishing side of an end.
pub struct Publishers {
    publishers: Vec<Publisher<Ipc, [u8], ()>>,
    notifier: Option<Notifier<Ipc>>,
}

impl Publishers {
    /// Connects to existing subscribers, so that the first message does not have to.
    ///
    /// # Errors
    /// If iceoryx2 fails; the same in all of these.
    pub fn connect(&self) -> Result<(), Failure> {
        Ok(self.publishers.iter().try_for_each(UpdateConnections::update_connections)?)
    }

    /// Copies a message into shared memory and sends it on the first topic.
    pub fn send(&self, message: &[u8]) -> Result<(), Failure> {
        self.send_on(0, message)
    }

    /// Copies a message into shared memory and sends it; its number selects the topic.
    pub fn send_round_robin(&self, message: &[u8]) -> Result<(), Failure> {
        self.send_on((number(message) % self.publishers.len() as u64) as usize, message)
    }

    fn send_on(&self, topic: usize, message: &[u8]) -> Result<(), Failure> {
        self.publishers[topic].loan_slice_uninit(message.len())?.write_from_slice(message).send()?;
        self.notify(topic)
    }

    /// Writes a message into loaned memory, as far as `touch` requires, and sends it.
    pub fn send_loaned(&self, size: usize, number: u64, touch: Touch) -> Result<(), Failure> {
        let mut sample = self.publishers[0].loan_slice_uninit(size)?;
        let (start, payload) = sample.payload_mut().split_at_mut(NUMBER);
        start.copy_from_slice(&number.to_le_bytes().map(MaybeUninit::new));
        if touch != Touch::None {
            payload.fill(MaybeUninit::new(number as u8));
        }
        // SAFETY: the memory is a mapped file, which the kernel zeroed when it was new, and every bit pattern is a valid byte.
        unsafe { sample.assume_init() }.send()?;
        self.notify(0)
    }

    fn notify(&self, topic: usize) -> Result<(), Failure> {
        if let Some(notifier) = &self.notifier {
            notifier.notify_with_custom_event_id(EventId::new(topic))?;
        }
        Ok(())
    }
}

/// Subscribing side of an end.
pub struct Subscribers {
    subscribers: Vec<Subscriber<Ipc, [u8], ()>>,
    listener: Option<Listener<Ipc>>,
}

impl Subscribers {
    /// Calls `on_message` with each message until it breaks or the stop is requested.
    ///
    /// # Errors
    /// If iceoryx2 fails, or `on_message` does.
    pub fn receive_all(
        &self,
        stop: &StopSignal,
        mut on_message: impl FnMut(&[u8]) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        // Messages that arrived before the first wait.
        let mut ready: Vec<usize> = (0..self.subscribers.len()).collect();
        loop {
            for subscriber in ready.iter().filter_map(|topic| self.subscribers.get(*topic)) {
                while let Some(message) = subscriber.receive()? {
                    if on_message(message.payload())?.is_break() {
                        return Ok(());
                    }
                }
            }
            if stop.is_requested() {
                return Ok(());
            }
            match &self.listener {
                Some(listener) => {
                    ready.clear();
                    listener.blocking_wait(|event| ready.push(event.id.as_value()))?;
                }
                None => std::hint::spin_loop(),
            }
        }
    }
}

/// A node whose files are in the folder of the run and, in `/dev/shm`, begin with that folder's name. Files of a killed
/// end are removed with the folder.
fn node() -> Result<Node<Ipc>, Failure> {
    let mut config = Config::default();
    if let Some((folder, name)) = home() {
        // Short: socket paths have at most 107 bytes.
        config.global.set_root_path(&Path::new(format!("{folder}/iox/").as_bytes())?);
        config.global.prefix = FileName::new(format!("{name}-").as_bytes())?;
    }
    let quiet = SignalHandlingMode::Disabled;
    Ok(NodeBuilder::new().config(&config).signal_handling_mode(quiet).create()?)
}

/// The folder of the run and its name.
fn home() -> Option<(String, String)> {
    let folder = env::var("ROS_HOME").ok()?;
    let name = folder.rsplit('/').next().filter(|name| !name.is_empty())?.to_owned();
    Some((folder, name))
}

/// A service whose name is unique to the run.
fn service(topic: &str, part: &str) -> Result<ServiceName, Failure> {
    let namespace = env::var("ROS_NAMESPACE").unwrap_or_default();
    Ok(format!("{namespace}/{topic}/{part}").as_str().try_into()?)
}
