//! One topic: a publish-subscribe service for messages and, unless they are polled for, an event service that wakes
//! whoever waits for them.

use std::env;
use std::error::Error;
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

use crate::options::{Options, Wait};
use crate::talk::End;

/// How long the other end may take to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// A topic that this end has opened.
pub struct Topic {
    messages: publish_subscribe::PortFactory<ipc::Service, [u8], ()>,
    events: event::PortFactory<ipc::Service>,
    wait: Wait,
    depth: usize,
    size: usize,
    _node: Node<ipc::Service>,
}

impl Topic {
    /// Opens a topic of this run, or creates it.
    ///
    /// # Errors
    /// When iceoryx2 refuses, as in all of these.
    pub fn open(name: &str, options: &Options) -> Result<Self, Box<dyn Error>> {
        let node = node()?;
        let messages = node
            .service_builder(&service(name, "messages")?)
            .publish_subscribe::<[u8]>()
            .subscriber_max_buffer_size(options.depth)
            .max_publishers(1)
            .max_subscribers(1)
            .open_or_create()?;
        let events = node.service_builder(&service(name, "events")?).event().open_or_create()?;
        let Options { wait, depth, trial, .. } = *options;
        Ok(Self { messages, events, wait, depth, size: trial.message().len(), _node: node })
    }

    /// Joins the topic as the end that publishes.
    pub fn outlet(&self) -> Result<Outlet, Box<dyn Error>> {
        let publisher = self.messages.publisher_builder().initial_max_slice_len(self.size).create()?;
        let notifier = match self.wait {
            Wait::Event => Some(self.events.notifier_builder().create()?),
            Wait::Poll => None,
        };
        Ok(Outlet { publisher, notifier })
    }

    /// Joins the topic as the end that subscribes.
    pub fn inlet(&self) -> Result<Inlet, Box<dyn Error>> {
        // Whoever waits for a subscriber may then rely on the listener.
        let listener = match self.wait {
            Wait::Event => Some(self.events.listener_builder().create()?),
            Wait::Poll => None,
        };
        let subscriber = self.messages.subscriber_builder().buffer_size(self.depth).create()?;
        Ok(Inlet { subscriber, listener })
    }

    /// Waits until somebody publishes and somebody subscribes.
    pub fn wait_for_ends(&self) -> Result<(), Box<dyn Error>> {
        let deadline = Instant::now() + PATIENCE;
        let config = self.messages.dynamic_config();
        while config.number_of_publishers() == 0 || config.number_of_subscribers() == 0 {
            if Instant::now() > deadline {
                return Err(format!("nobody joins {}", self.messages.name()).into());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Wakes whoever waits for messages of a topic, from a thread that has nothing of it.
///
/// # Errors
/// When iceoryx2 refuses.
pub fn wake(name: &str) -> Result<(), Box<dyn Error>> {
    let node = node()?;
    let events = node.service_builder(&service(name, "events")?).event().open()?;
    events.notifier_builder().create()?.notify()?;
    Ok(())
}

/// The end of a topic that publishes.
pub struct Outlet {
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Option<Notifier<ipc::Service>>,
}

impl Outlet {
    /// Connects to subscribers that are there already, so that the first message need not.
    pub fn connect(&self) -> Result<(), Box<dyn Error>> {
        Ok(self.publisher.update_connections()?)
    }

    /// Puts a message into shared memory, and tells the subscriber.
    pub fn send(&self, message: &[u8]) -> Result<(), Box<dyn Error>> {
        let sample = self.publisher.loan_slice_uninit(message.len())?;
        sample.write_from_slice(message).send()?;
        if let Some(notifier) = &self.notifier {
            notifier.notify()?;
        }
        Ok(())
    }
}

/// The end of a topic that subscribes.
pub struct Inlet {
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    listener: Option<Listener<ipc::Service>>,
}

impl Inlet {
    /// Hands each message over as it comes, until `take` breaks off or the end is asked for.
    pub fn each(
        &self,
        end: &End,
        mut take: impl FnMut(&[u8]) -> Result<ControlFlow<()>, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            while let Some(message) = self.subscriber.receive()? {
                if take(message.payload())?.is_break() {
                    return Ok(());
                }
            }
            if end.is_asked() {
                return Ok(());
            }
            match &self.listener {
                Some(listener) => drop(listener.blocking_wait(|_| {})?),
                None => std::hint::spin_loop(),
            }
        }
    }
}

/// A node whose files are all in the folder of the run and, in `/dev/shm`, begin with that folder's name: what an end
/// that is killed leaves there is removed with the folder.
fn node() -> Result<Node<ipc::Service>, Box<dyn Error>> {
    let mut config = Config::default();
    if let Some((folder, name)) = home() {
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
fn service(topic: &str, part: &str) -> Result<ServiceName, Box<dyn Error>> {
    let namespace = env::var("ROS_NAMESPACE").unwrap_or_default();
    Ok(format!("{namespace}/{topic}/{part}").as_str().try_into()?)
}
