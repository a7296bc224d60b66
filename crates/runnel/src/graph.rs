//! Calls to the master and to other nodes, and a master of our own.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use runnel_io::{Listener, host};
use runnel_ros1::master::{Master, MasterConfig};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::{CallOptions, RpcConfig, RpcPeer, Uri};
use runnel_ros1::xmlrpc::Value;

use crate::context::Context;
use crate::driver::{Driver, Engine, Key};
use crate::error::Error;
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
        let key = self.client()?;
        let options = CallOptions { timeout, keep_open: uri == self.master_uri() };
        let mut driver = self.shared.turning.driver();
        let call = driver.with_engine(key, |engine, now| {
            engine.as_client().map(|client| client.call(now, uri, method, params, options))
        });
        drop(driver);
        let call = call.flatten().ok_or(Error::ShuttingDown)?;
        let mut answer = None;
        let take = |driver: &mut Driver| {
            answer = driver.node_slot(key).and_then(|slot| slot.answers.remove(&call));
            answer.is_some()
        };
        // The engine itself ends a call that takes too long.
        let longest = timeout.saturating_add(Duration::from_secs(1));
        // One that is made after the end of the context is part of somebody's tidying up.
        let _ =
            if self.ok() { self.shared.wait(longest, take)? } else { self.shared.wait_out(longest, take)? };
        Ok(answer.ok_or(Error::ShuttingDown)??)
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

    /// Starts a master in this process that listens on `bind`; port 0 takes a free one. `advertised` is the host
    /// that nodes are told, the bound address if `None`. It runs while the context spins or sleeps, or otherwise on
    /// the keeper thread. Returns its URI.
    ///
    /// # Errors
    /// When the address is in use or not of this host.
    pub fn start_master(&self, bind: SocketAddr, advertised: Option<&str>) -> Result<Uri, Error> {
        let listener = Listener::bind(bind)?;
        let address = listener.address();
        let host = advertised.map_or_else(|| address_text(address.ip()), str::to_owned);
        let text = format!("http://{host}:{}/", address.port());
        let uri = Uri::parse(&text)
            .map_err(|error| Error::Environment { variable: "ROS_HOSTNAME", why: error.to_string() })?;
        let mut config = MasterConfig::new(text, host::pid());
        // Before descriptors run out, connections that never asked for anything give way to others.
        config.rpc.max_server_connections = host::connections_for_peers(config.rpc.max_server_connections, 3);
        let engine = Engine::Other(Box::new(Master::new(config)));
        self.shared.turning.driver().add_engine(engine, vec![(listener, Port::Rpc)])?;
        self.shared.turning.attend();
        Ok(uri)
    }
}

fn address_text(address: IpAddr) -> String {
    match address {
        IpAddr::V6(address) => format!("[{address}]"),
        IpAddr::V4(address) if address.is_unspecified() => host::name(),
        IpAddr::V4(address) => address.to_string(),
    }
}
