//! A node that is moved to another host by request of another process.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel_wasm::GuestControl;
use runnel_wasm::migration::link::{Fingerprint, Identity, Link, TrustedHosts, default_folder};
use runnel_wasm::migration::{
    Arrivals, Migrated, MigrationError, MigrationOptions, Reach, Resolution, SharedChannel, migrate,
};

use super::Side;

/// How long connecting to a host may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A node that runs in this process, and what is known of its moves.
#[derive(Clone)]
pub struct Hosted {
    pub control: GuestControl,
    /// Nodes that come from other hosts, if this process accepts any.
    arrivals: Option<Arc<Arrivals>>,
    /// Tells the node's own move where the node goes on, while that is in doubt.
    doubt: Arc<Mutex<Option<Sender<Resolution>>>>,
    /// Held while it moves.
    moving: Arc<Mutex<()>>,
}

impl Hosted {
    pub fn new(control: GuestControl) -> Self {
        Self { control, arrivals: None, doubt: Arc::default(), moving: Arc::default() }
    }

    /// A node that comes from another host.
    pub fn arriving(control: GuestControl, arrivals: &Arc<Arrivals>) -> Self {
        Self { arrivals: Some(Arc::clone(arrivals)), ..Self::new(control) }
    }

    /// Moves the node. `report_doubt` is called if it is not known where it goes on; this returns when it is.
    ///
    /// # Errors
    /// Why it goes on here.
    pub fn migrate(&self, to: &str, mut report_doubt: impl FnMut(&str)) -> Result<Migrated, MigrationError> {
        let Ok(_moving) = self.moving.try_lock() else {
            return Err(MigrationError::Node("it moves already".to_owned()));
        };
        let mut host = None;
        let mut connect = || connect_to(to, &mut host);
        let channel = connect().map_err(MigrationError::Node)?;
        let (resolve, resolutions) = mpsc::channel();
        let mut doubt = |why: &str| {
            *self.doubt() = Some(resolve.clone());
            report_doubt(why);
        };
        let mut reach =
            Reach { reconnect: &mut connect, resolutions: &resolutions, report_doubt: &mut doubt };
        let migrated = migrate(&self.control, channel, MigrationOptions::default(), &mut reach);
        *self.doubt() = None;
        migrated
    }

    /// Whether a node of this name has come from another host.
    pub fn has_come(&self, node: &str) -> bool {
        self.arrivals.as_ref().is_some_and(|arrivals| arrivals.has_come(node))
    }

    /// Decides where a node goes on. False if that is not in doubt here.
    pub fn resolve(&self, node: &str, side: Side) -> bool {
        let resolution = match side {
            Side::Source => Resolution::Source,
            Side::Target => Resolution::Target,
        };
        let is_own = self.control.node_names().iter().any(|name| name == node);
        let of_own = || self.doubt().as_ref().is_some_and(|resolve| resolve.send(resolution).is_ok());
        is_own && of_own()
            || self.arrivals.as_ref().is_some_and(|arrivals| arrivals.resolve(node, resolution))
    }

    fn doubt(&self) -> MutexGuard<'_, Option<Sender<Resolution>>> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects to a host that serves nodes.
///
/// # Errors
/// Why there is no connection.
pub fn connect(to: &str) -> Result<SharedChannel, String> {
    connect_to(to, &mut None)
}

/// The same; once more only to the host that was there before.
fn connect_to(to: &str, before: &mut Option<Fingerprint>) -> Result<SharedChannel, String> {
    let folder = default_folder().map_err(|error| error.to_string())?;
    let identity = Identity::load_or_create(&folder).map_err(|error| error.to_string())?;
    let link = Link::connect(to, &identity, &TrustedHosts::in_folder(&folder), CONNECT);
    let link = link.map_err(|error| error.to_string())?;
    let now = link.peer().fingerprint;
    if *before.get_or_insert(now) != now {
        return Err(format!("{to}: another host, {}, has this address now", link.peer()));
    }
    Ok(SharedChannel::new(link))
}
