//! The host to which a node moves.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use runnel::Context;
use runnel_io::clock;
use wasmtime::Store;

use super::channel::SharedChannel;
use super::fate::Fate;
use super::message::{Offer, Relayed, ToSource, ToTarget};
use super::remote::Remote;
use crate::checkpoint::{
    ReceivedPages, Restoring, State, create_entities, links, restore_acting, restore_entities,
};
use crate::error::GuestError;
use crate::guest::{Guest, GuestOptions, set_instance};
use crate::host::{Entity, Host, Suspended};
use crate::program::{ModuleHash, Program};

/// Longest wait for something to do.
const STEP: Duration = Duration::from_millis(20);

/// How long the source may be silent before the cut.
const SILENCE: Duration = Duration::from_secs(30);

/// A node that comes from another host.
pub struct Arrival {
    pub(super) offer: Offer,
    pub(super) channel: SharedChannel,
    /// Channels of a source that returns after one has broken.
    pub(super) returned: Receiver<SharedChannel>,
    pub(super) fate: Fate,
    /// What to do when it is here.
    pub(super) on_come: Option<Box<dyn FnOnce() + Send>>,
}

impl Arrival {
    /// The full names of its nodes.
    pub fn nodes(&self) -> &[String] {
        &self.offer.nodes
    }

    /// The module from which it runs.
    pub fn module(&self) -> ModuleHash {
        self.offer.module
    }

    /// The arguments of its program.
    pub fn arguments(&self) -> &[String] {
        &self.offer.state.arguments
    }

    /// The arguments for ROS with which it runs. Those of a host that is not trusted may be hostile.
    pub fn ros_arguments(&self) -> &[String] {
        &self.offer.state.ros_arguments
    }

    /// The graphs in which it is.
    pub fn graphs(&self) -> runnel::Graphs {
        self.offer.state.graphs.into()
    }

    /// Prepares a program to go on as this node. Its arguments are those of the node. The context must
    /// [stand by](runnel::ContextOptions::standby).
    ///
    /// # Errors
    /// As [`Guest::new`], and if the node is of another module.
    pub fn into_guest(
        self,
        program: &Program,
        context: Context,
        options: GuestOptions,
    ) -> Result<Guest, GuestError> {
        let (module, arguments) = (self.module(), self.arguments().to_vec());
        let options = GuestOptions { arguments, ..options };
        Guest::arriving(program, module, context, options, Box::new(|store| arrive(store, self)))
    }

    /// Calls a function when it is here.
    #[must_use]
    pub fn on_come(mut self, call: impl FnOnce() + Send + 'static) -> Self {
        self.on_come = Some(Box::new(call));
        self
    }

    /// What refuses it.
    pub fn refuser(&self) -> impl Fn(&str) + use<> {
        let channel = self.channel.clone();
        // A source that is gone learns nothing.
        move |why| _ = channel.send(&ToSource::Refused(why.to_owned()))
    }
}

/// How an arrival ends.
enum Outcome {
    /// The guest is to run, from where it was suspended.
    Here(Suspended),
    /// The node goes on at the source.
    Not(String),
}

/// Takes a node from its source. Returns where it was suspended.
fn arrive(store: &mut Store<Host>, arrival: Arrival) -> Result<Option<Suspended>, String> {
    let Arrival { offer, channel, returned, fate, on_come } = arrival;
    let host = store.data_mut();
    host.is_expected = true;
    host.pace.set_absent(true);
    let waker = host.executor.waker();
    channel.set_on_received(move || waker.wake_by_ref());
    let described = offer.state.entities.iter().map(|(handle, entity)| (*handle, &entity.description));
    if let Err(why) = create_entities(host, &offer.state.definitions, described) {
        // The source learns why, or that the channel is broken.
        let _ = channel.send(&ToSource::Refused(why.clone()));
        return Err(why);
    }
    let pages = ReceivedPages::default();
    let decided = fate.clone();
    let nodes = offer.nodes.join(", ");
    let target = Target { nodes, channel, returned, pages, state: None, fate, early: Vec::new() };
    let outcome = target.run(store);
    if !matches!(outcome, Ok(Outcome::Here(_))) && !decided.give_up() {
        log::error!("{} was to go on here, and has ended", offer.nodes.join(", "));
    }
    match outcome? {
        Outcome::Here(suspended) => {
            on_come.into_iter().for_each(|call| call());
            Ok(Some(suspended))
        }
        Outcome::Not(why) => {
            log::warn!("{} has not come: {why}", offer.nodes.join(", "));
            Ok(None)
        }
    }
}

struct Target {
    /// Its full names.
    nodes: String,
    channel: SharedChannel,
    returned: Receiver<SharedChannel>,
    pages: ReceivedPages,
    /// Once the node is prepared.
    state: Option<Box<State>>,
    fate: Fate,
    /// What the source passes on before the guest runs.
    early: Vec<Relayed>,
}

/// What follows a message.
enum Next {
    More,
    Speak,
    GiveUp(String),
}

impl Target {
    fn run(mut self, store: &mut Store<Host>) -> Result<Outcome, String> {
        self.answer(&ToSource::Accepted);
        let mut last = Instant::now();
        loop {
            let next = match self.channel.receive::<ToTarget>(Duration::ZERO) {
                Ok(Some(message)) => {
                    last = Instant::now();
                    self.handle(store, message)?
                }
                Ok(None) if self.state.is_none() && last.elapsed() > SILENCE => {
                    Next::GiveUp("the source is silent".to_owned())
                }
                Ok(None) => {
                    let spun = store.data_mut().executor.spin_once(STEP);
                    spun.map_err(|error| error.to_string())?;
                    Next::More
                }
                Err(why) => self.on_broken(store, why)?,
            };
            let host = store.data();
            match next {
                Next::Speak => return self.speak(store),
                Next::GiveUp(why) => return Ok(Outcome::Not(why)),
                Next::More if self.fate.is_given_up() => {
                    return Ok(Outcome::Not("the node goes on at its source".to_owned()));
                }
                Next::More if host.pace.is_stopped() || !host.context.ok() => {
                    return Ok(Outcome::Not("this host ends".to_owned()));
                }
                Next::More => {}
            }
        }
    }

    fn handle(&mut self, store: &mut Store<Host>, message: ToTarget) -> Result<Next, String> {
        match message {
            ToTarget::Pages(pages) => {
                let most = store.data().most_pages();
                for page in pages {
                    if let Err(why) = self.pages.put(page, most) {
                        return Ok(self.refuse(why));
                    }
                }
            }
            ToTarget::Links => self.answer(&ToSource::Links(links(store.data()))),
            ToTarget::Cut { state, pages } if self.state.is_none() => {
                let received = std::mem::take(&mut self.pages);
                if let Err(why) = self.prepare(store, &state, received, pages) {
                    return Ok(self.refuse(why));
                }
                self.state = Some(state);
                self.answer(&ToSource::Prepared);
            }
            ToTarget::Commit if self.state.is_some() && self.fate.commit() => {
                self.answer(&ToSource::Committed);
            }
            ToTarget::Commit if self.state.is_some() => {
                self.answer(&ToSource::Refused(
                    "by a user's decision, the node goes on at its source".to_owned(),
                ));
            }
            ToTarget::Speak if self.fate.is_committed() => return Ok(Next::Speak),
            ToTarget::Relay(relayed) if self.fate.is_committed() => self.early.push(relayed),
            ToTarget::Abort if self.fate.give_up() => {
                self.answer(&ToSource::Unknown);
                return Ok(Next::GiveUp("the node goes on at the source".to_owned()));
            }
            _ => return Ok(Next::GiveUp("the source sent a message out of turn".to_owned())),
        }
        Ok(Next::More)
    }

    /// Sets all that the node is, but what acts by itself.
    fn prepare(
        &mut self,
        store: &mut Store<Host>,
        state: &State,
        pages: ReceivedPages,
        count: u32,
    ) -> Result<(), String> {
        set_instance(store, state, &pages.into_image(count))?;
        let host = store.data_mut();
        restore_entities(host, state, Restoring::Move)?;
        let positions = state.positions();
        if !positions.iter().all(|(_, positions)| positions.are_sound()) {
            return Err("the positions of its subscriptions are damaged".to_owned());
        }
        for (handle, positions) in positions {
            if let Some(Entity::Subscription(subscription)) = host.entities.get(handle) {
                subscription.incoming.join(positions, clock::monotonic());
            }
        }
        for (handle, requests) in state.last_requests() {
            if let Ok(service) = host.entities.service(handle) {
                service.requests.join(requests);
            }
        }
        Ok(())
    }

    /// The guest runs from now on.
    fn speak(self, store: &mut Store<Host>) -> Result<Outcome, String> {
        let host = store.data_mut();
        host.is_expected = false;
        host.pace.set_absent(false);
        // What every node has declares parameters.
        let taken_over = host.events.change_parameters(|| host.context.take_over());
        taken_over.map_err(|error| error.to_string())?;
        let state = self.state.as_deref().ok_or("it was not prepared")?;
        restore_acting(host, state)?;
        let mut remote = Remote::new(self.channel, state);
        self.early.into_iter().for_each(|relayed| remote.take(host, relayed));
        host.former = Some(Box::new(remote));
        Ok(Outcome::Here(state.suspended))
    }

    /// The channel has broken. Before the cut, the node goes on at the source. After the commitment it goes on here. Between
    /// them nobody can know.
    fn on_broken(&mut self, store: &mut Store<Host>, why: String) -> Result<Next, String> {
        if self.fate.is_committed() {
            return Ok(Next::Speak);
        }
        if self.state.is_none() {
            return Ok(Next::GiveUp(why));
        }
        self.fate.doubt();
        log::warn!(
            "{}: the connection to the host that it leaves has broken at the moment in which neither host knows where it goes \
             on: {why}. It is held until that host returns. Try: runnel migrate {} --resolve target, or source",
            self.nodes,
            self.nodes
        );
        loop {
            match self.returned.try_recv() {
                Ok(channel) => {
                    let waker = store.data().executor.waker();
                    channel.set_on_received(move || waker.wake_by_ref());
                    self.channel = channel;
                    self.answer(&ToSource::Prepared);
                    return Ok(Next::More);
                }
                Err(TryRecvError::Disconnected) => {
                    return Ok(Next::GiveUp("nobody can decide it".to_owned()));
                }
                Err(TryRecvError::Empty) if self.fate.is_committed() => return Ok(Next::Speak),
                Err(TryRecvError::Empty) => {}
            }
            let host = store.data_mut();
            if self.fate.is_given_up() || host.pace.is_stopped() || !host.context.ok() {
                return Ok(Next::More);
            }
            host.executor.spin_once(STEP).map_err(|error| error.to_string())?;
        }
    }

    /// The source learns why the node does not go on here.
    fn refuse(&self, why: String) -> Next {
        self.answer(&ToSource::Refused(why.clone()));
        Next::GiveUp(why)
    }

    fn answer(&self, message: &ToSource) {
        // That the channel is broken is noticed by the next look at it.
        let _ = self.channel.send(message);
    }
}
