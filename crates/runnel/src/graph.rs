//! Calls to the master and to other nodes, and a master of our own.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use runnel_io::{Listener, host};
use runnel_ros1::master::{Master, MasterConfig};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::{CallOptions, RpcConfig, RpcPeer, Uri};
use runnel_ros1::xmlrpc::Value;

use crate::context::{Context, ContextOptions};
use crate::driver::{Driver, Engine, Key, Verbs};
use crate::error::Error;
use crate::persist::PersistentMaster;
use crate::sync::lock;

impl Context {
    /// The master's URI.
    pub fn master_uri(&self) -> &Uri {
        &self.shared.settings.master
    }

    /// Calls a method of the master's API with these parameters and waits for the answer.
    ///
    /// # Errors
    /// When the master does not answer in time, or answers with a fault.
    pub fn call_master(&self, method: &str, params: &[Value], timeout: Duration) -> Result<Value, Error> {
        self.call(&self.shared.settings.master, method, params, timeout)
    }

    /// Calls a method of the API at `uri` and waits for the answer.
    ///
    /// # Errors
    /// As [`Context::call_master`].
    pub fn call(&self, uri: &Uri, method: &str, params: &[Value], timeout: Duration) -> Result<Value, Error> {
        let mut answers = self.call_all(&[(uri, method, params)], timeout)?;
        answers.pop().unwrap_or(Err(Error::ShuttingDown))
    }

    /// Makes calls side by side, each a URI, a method and its parameters, and waits until every one has an answer or has
    /// failed. The answers come in the order of the calls. Each call to a server other than the master takes a
    /// connection of its own.
    ///
    /// # Errors
    /// When the context ends before. What a call failed with is its answer.
    pub fn call_all(
        &self,
        calls: &[(&Uri, &str, &[Value])],
        timeout: Duration,
    ) -> Result<Vec<Result<Value, Error>>, Error> {
        let key = self.client()?;
        let begin = |(uri, method, params): &(&Uri, &str, &[Value])| {
            let options = CallOptions { timeout, keep_open: *uri == self.master_uri() };
            let call = self.shared.turning.driver().with_engine(key, |engine, now| {
                engine.as_client().map(|client| client.call(now, uri, method, params, options))
            });
            call.flatten().ok_or(Error::ShuttingDown)
        };
        let ids = calls.iter().map(begin).collect::<Result<Vec<_>, Error>>()?;
        let mut answers: Vec<_> = ids.iter().map(|_| None).collect();
        let take = |driver: &mut Driver| {
            for (id, answer) in ids.iter().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
                *answer = driver.node_slot(key).and_then(|slot| slot.answers.remove(id));
            }
            answers.iter().all(Option::is_some)
        };
        // The engine itself ends a call that takes too long.
        let longest = timeout.saturating_add(Duration::from_secs(1));
        // One that is made after the end of the context is part of somebody's tidying up.
        let _ =
            if self.ok() { self.shared.wait(longest, take)? } else { self.shared.wait_out(longest, take)? };
        let answers =
            answers.into_iter().map(|answer| Ok(answer.ok_or(Error::ShuttingDown)?.map_err(Error::from)));
        answers.collect()
    }

    /// The engine for calls that belong to no node.
    fn client(&self) -> Result<Key, Error> {
        let mut client = lock(&self.shared.client);
        if let Some(key) = *client {
            return Ok(key);
        }
        let engine = Engine::Other(Box::new(RpcPeer::new(RpcConfig::default())));
        let key = self.shared.turning.driver().add_engine(engine, Vec::new())?;
        *client = Some(key);
        Ok(key)
    }

    /// Starts a master in this process. It runs while the context spins or sleeps, or otherwise on the keeper thread.
    /// Returns its URI.
    ///
    /// # Errors
    /// When the address is in use or not of this host, or the file for parameters cannot be used.
    pub fn start_master(&self, options: MasterOptions) -> Result<Uri, Error> {
        let (listener, uri) = options.listen()?;
        self.serve_master(&options, listener, &uri)?;
        Ok(uri)
    }

    /// A context with a master in this process that its own nodes use.
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
        // Before descriptors run out, connections that never asked for anything give way to others.
        config.rpc.max_server_connections = host::connections_for_peers(config.rpc.max_server_connections, 3);
        let engine: Box<dyn Verbs> = match &options.persist {
            Some(path) => Box::new(PersistentMaster::new(config, path)?),
            None => Box::new(Master::new(config)),
        };
        self.shared.turning.driver().add_engine(Engine::Other(engine), vec![(listener, Port::Rpc)])?;
        self.shared.turning.attend();
        Ok(())
    }
}

/// How a master is started.
#[derive(Clone, Debug)]
pub struct MasterOptions {
    bind: SocketAddr,
    advertised: Option<String>,
    persist: Option<PathBuf>,
}

impl MasterOptions {
    /// A master that listens on `address`; port 0 takes a free one.
    pub fn at(address: impl Into<SocketAddr>) -> Self {
        Self { bind: address.into(), advertised: None, persist: None }
    }

    /// The host that nodes are told instead of the address.
    #[must_use]
    pub fn advertised(mut self, host: impl Into<String>) -> Self {
        self.advertised = Some(host.into());
        self
    }

    /// Keeps parameters in a file, and begins with those that it holds. They are safe there from the end of the process,
    /// and from a power failure as far as the file system's own delay allows.
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
    fn every_interface_is_announced_as_the_hosts_name() {
        let text = |address: &str| address_text(address.parse().expect("an address"));
        for address in ["0.0.0.0", "::"] {
            assert_eq!(text(address), host::name());
        }
        assert_eq!(["10.0.0.5", "fd00::5"].map(text), ["10.0.0.5", "[fd00::5]"]);
    }
}
