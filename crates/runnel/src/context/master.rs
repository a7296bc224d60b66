//! Master in this process.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use runnel_io::{Listener, host};
use runnel_ros1::master::{Master, MasterConfig};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::Uri;

use crate::context::persist::PersistentMaster;
use crate::context::{Context, ContextOptions};
use crate::driver::{Engine, ProtocolEngine};
use crate::error::Error;

impl Context {
    /// Starts a master in this process. It runs while the context spins or sleeps, otherwise on the background thread.
    /// Returns its URI.
    ///
    /// # Errors
    /// If the address is in use or is not an address of this host, or the file for parameters cannot be used.
    pub fn start_master(&self, options: MasterOptions) -> Result<Uri, Error> {
        let (listener, uri) = options.listen()?;
        self.serve_master(&options, listener, &uri)?;
        Ok(uri)
    }

    /// A context with a master in this process, which its own nodes use.
    ///
    /// # Errors
    /// As [`Context::with_options`] and [`Context::start_master`].
    pub fn with_master(options: ContextOptions, master: MasterOptions) -> Result<(Self, Uri), Error> {
        let (listener, uri) = master.listen()?;
        let context = Self::with_options(options.master(&uri))?;
        context.serve_master(&master, listener, &uri)?;
        Ok((context, uri))
    }

    fn serve_master(&self, options: &MasterOptions, listener: Listener, uri: &Uri) -> Result<(), Error> {
        let mut config = MasterConfig::new(uri.to_string(), host::pid());
        // Connections that never sent a request are closed before descriptors run out.
        config.rpc.max_server_connections = host::connections_for_peers(config.rpc.max_server_connections, 3);
        let engine: Box<dyn ProtocolEngine> = match &options.persist {
            Some(path) => Box::new(PersistentMaster::new(config, path)?),
            None => Box::new(Master::new(config)),
        };
        self.shared.event_loop.driver().add_engine(Engine::Other(engine), vec![(listener, Port::Rpc)])?;
        self.shared.event_loop.ensure_background_thread();
        Ok(())
    }
}

/// Options of a master.
#[derive(Clone, Debug)]
pub struct MasterOptions {
    bind: SocketAddr,
    advertised: Option<String>,
    persist: Option<PathBuf>,
}

impl MasterOptions {
    /// A master that listens on `address`; port 0 selects a free one.
    pub fn at(address: impl Into<SocketAddr>) -> Self {
        Self { bind: address.into(), advertised: None, persist: None }
    }

    /// The host that is announced to nodes instead of the address.
    #[must_use]
    pub fn advertised(mut self, host: impl Into<String>) -> Self {
        self.advertised = Some(host.into());
        self
    }

    /// Stores parameters in a file, and begins with those in it. They survive the end of the process, and a power
    /// failure except for the file system's own write delay. A change that cannot be stored, for example on a full
    /// disk, is not applied: the setter gets an error, and a warning is logged.
    #[must_use]
    pub fn persist(mut self, file: impl Into<PathBuf>) -> Self {
        self.persist = Some(file.into());
        self
    }

    fn listen(&self) -> Result<(Listener, Uri), Error> {
        let listener =
            Listener::bind(self.bind).map_err(|error| Error::Listen { address: self.bind, error })?;
        let address = listener.address();
        let host = self.advertised.clone().unwrap_or_else(|| address_text(address.ip()));
        let uri = Uri::parse(&format!("http://{host}:{}/", address.port())).map_err(|error| {
            Error::Environment { variable: "the advertised host", why: error.to_string() }
        })?;
        Ok((listener, uri))
    }
}

fn address_text(address: IpAddr) -> String {
    match address {
        _ if address.is_unspecified() => host::name(),
        IpAddr::V6(address) => format!("[{address}]"),
        IpAddr::V4(address) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unspecified_address_is_announced_as_host_name() {
        let text = |address: &str| address_text(address.parse().expect("an address"));
        for address in ["0.0.0.0", "::"] {
            assert_eq!(text(address), host::name());
        }
        assert_eq!(["10.0.0.5", "fd00::5"].map(text), ["10.0.0.5", "[fd00::5]"]);
    }
}
