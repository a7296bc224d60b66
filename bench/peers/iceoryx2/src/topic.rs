//! Topics: a publish-subscribe service for the messages of each and, unless they are polled for, one event service for
//! all that one end receives, whose events tell which topic has a message.

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
use crate::talk::End;

/// How long the other end may take to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// Nodes of ends beside those that exchange messages, which wake others at the end.
const OTHERS: usize = 16;

type Ipc = ipc::Service;
type Failure = Box<dyn Error>;

/// Topics that this end has opened, all with the same two ends.
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
    /// Opens one topic of this run, or creates it.
    ///
    /// # Errors
    /// When iceoryx2 refuses, as in all of these.
    pub fn one(name: &str, options: &Options) -> Result<Self, Failure> {
        Self::open(name, vec![name.to_owned()], options)
    }

    /// Opens as many topics as the options tell, with a number in each one's name.
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
            let nodes = subscribers + OTHERS;
            Ok(builder.max_subscribers(subscribers).max_nodes(nodes).open_or_create()?)
        };
        let messages = names.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        let nodes = subscribers + OTHERS;
        let events = node.service_builder(&service(name, "events")?).event();
        let events = events.max_listeners(subscribers).max_notifiers(nodes).max_nodes(2 * nodes);
        let events = events.event_id_max_value(names.len() - 1).open_or_create()?;
        Ok(Self { messages, events, wait, depth, size, subscribers, _node: node })
    }

    /// Joins as the end that publishes.
    pub fn outlet(&self) -> Result<Outlet, Failure> {
        let publisher = |messages: &publish_subscribe::PortFactory<Ipc, [u8], ()>| {
            messages.publisher_builder().initial_max_slice_len(self.size).create()
        };
        let publishers = self.messages.iter().map(publisher).collect::<Result<_, _>>()?;
        let notifier = match self.wait {
            Wait::Event => Some(self.events.notifier_builder().create()?),
            Wait::Poll => None,
        };
        Ok(Outlet { publishers, notifier })
    }

    /// Joins as the end that subscribes.
    pub fn inlet(&self) -> Result<Inlet, Failure> {
        // Whoever waits for a subscriber may then rely on the listener.
        let listener = match self.wait {
            Wait::Event => Some(self.events.listener_builder().create()?),
            Wait::Poll => None,
        };
        let subscriber = |messages: &publish_subscribe::PortFactory<Ipc, [u8], ()>| {
            messages.subscriber_builder().buffer_size(self.depth).create()
        };
        let subscribers = self.messages.iter().map(subscriber).collect::<Result<_, _>>()?;
        Ok(Inlet { subscribers, listener })
    }

    /// Waits until somebody publishes and all subscribe, on each topic.
    pub fn wait_for_ends(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        for messages in &self.messages {
            let config = messages.dynamic_config();
            while config.number_of_publishers() == 0 || config.number_of_subscribers() < self.subscribers {
                if Instant::now() > deadline {
                    return Err(format!("nobody joins {}", messages.name()).into());
                }
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }
}

/// Wakes whoever waits for messages of a topic, from a thread that has nothing of it.
///
/// # Errors
/// When iceoryx2 refuses.
pub fn wake(name: &str) -> Result<(), Failure> {
    let node = node()?;
    let events = node.service_builder(&service(name, "events")?).event().open()?;
    events.notifier_builder().create()?.notify()?;
    Ok(())
}

/// The end that publishes.
pub struct Outlet {
    publishers: Vec<Publisher<Ipc, [u8], ()>>,
    notifier: Option<Notifier<Ipc>>,
}

impl Outlet {
    /// Connects to subscribers that are there already, so that the first message need not.
    ///
    /// # Errors
    /// When iceoryx2 refuses, as in all of these.
    pub fn connect(&self) -> Result<(), Failure> {
        Ok(self.publishers.iter().try_for_each(UpdateConnections::update_connections)?)
    }

    /// Copies a message into shared memory and hands it over, on the first topic.
    pub fn send(&self, message: &[u8]) -> Result<(), Failure> {
        self.send_on(0, message)
    }

    /// Copies a message into shared memory and hands it over, on the topic whose turn it is.
    pub fn send_in_turn(&self, message: &[u8]) -> Result<(), Failure> {
        self.send_on((number(message) % self.publishers.len() as u64) as usize, message)
    }

    fn send_on(&self, topic: usize, message: &[u8]) -> Result<(), Failure> {
        self.publishers[topic].loan_slice_uninit(message.len())?.write_from_slice(message).send()?;
        self.notify(topic)
    }

    /// Writes a message into shared memory, as far as it is touched, and hands it over.
    pub fn lend(&self, size: usize, number: u64, touch: Touch) -> Result<(), Failure> {
        let mut sample = self.publishers[0].loan_slice_uninit(size)?;
        let (start, payload) = sample.payload_mut().split_at_mut(NUMBER);
        start.copy_from_slice(&number.to_le_bytes().map(MaybeUninit::new));
        if touch != Touch::None {
            payload.fill(MaybeUninit::new(number as u8));
        }
        // SAFETY: the memory is a mapped file, all of which was written by the kernel at least, and every value of a
        // byte is a byte.
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

/// The end that subscribes.
pub struct Inlet {
    subscribers: Vec<Subscriber<Ipc, [u8], ()>>,
    listener: Option<Listener<Ipc>>,
}

impl Inlet {
    /// Hands each message over as it comes, until `take` breaks off or the end is asked for.
    ///
    /// # Errors
    /// When iceoryx2 refuses, or `take` fails.
    pub fn each(
        &self,
        end: &End,
        mut take: impl FnMut(&[u8]) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        // What came before the first wait.
        let mut told: Vec<usize> = (0..self.subscribers.len()).collect();
        loop {
            for subscriber in told.iter().filter_map(|topic| self.subscribers.get(*topic)) {
                while let Some(message) = subscriber.receive()? {
                    if take(message.payload())?.is_break() {
                        return Ok(());
                    }
                }
            }
            if end.is_asked() {
                return Ok(());
            }
            match &self.listener {
                Some(listener) => {
                    told.clear();
                    listener.blocking_wait(|event| told.push(event.id.as_value()))?;
                }
                None => std::hint::spin_loop(),
            }
        }
    }
}

/// A node whose files are all in the folder of the run and, in `/dev/shm`, begin with that folder's name: what an end
/// that is killed leaves there is removed with the folder.
fn node() -> Result<Node<Ipc>, Failure> {
    let mut config = Config::default();
    if let Some((folder, name)) = home() {
        // Short: names of sockets have at most 107 bytes.
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

/// A service of this run's ends alone.
fn service(topic: &str, part: &str) -> Result<ServiceName, Failure> {
    let namespace = env::var("ROS_NAMESPACE").unwrap_or_default();
    Ok(format!("{namespace}/{topic}/{part}").as_str().try_into()?)
}
