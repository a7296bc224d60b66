//! XML-RPC calls to the master and to other nodes.

use std::time::Duration;

use runnel_ros1::rpc::{CallOptions, RpcConfig, RpcPeer, Uri};
use runnel_ros1::xmlrpc::Value;

use crate::context::Context;
use crate::driver::{Driver, Engine, Key};
use crate::error::{Error, Ros1Feature};
use crate::sync::lock;

/// Maximum total time of the calls to one server, in multiples of the time for one call.
const MAX_SERVER_TIMEOUTS: usize = 4;

impl Context {
    /// Calls a method of the master's API with these parameters and waits for the answer.
    ///
    /// # Errors
    /// When the master does not answer in time, or answers with a fault; [`Error::Ros1Only`] if the context is not in the ROS 1
    /// graph.
    pub fn call_master(&self, method: &str, params: &[Value], timeout: Duration) -> Result<Value, Error> {
        let ros1 = self.shared.settings.ros1.as_ref();
        let ros1 =
            ros1.ok_or_else(|| Error::Ros1Only { feature: Ros1Feature::MasterMethod(method.to_owned()) })?;
        self.call(&ros1.master, method, params, timeout)
    }

    /// Calls a method of the API at `uri` and waits for the answer.
    ///
    /// # Errors
    /// As [`Context::call_master`].
    pub fn call(&self, uri: &Uri, method: &str, params: &[Value], timeout: Duration) -> Result<Value, Error> {
        let mut answers = self.call_all(&[(uri, method, params)], timeout)?;
        answers.pop().unwrap_or(Err(Error::ShuttingDown))
    }

    /// Makes several calls concurrently, each given as a URI, a method and its parameters. Waits until each has an
    /// answer or has failed, and returns the answers in the order of the calls. Each call to a server other than the
    /// master uses its own connection. Calls to one server run one after the other. The time for a call starts when it
    /// is sent, but all calls to one server take at most four times that time.
    ///
    /// # Errors
    /// When the context ends first. The failure of a call is its answer.
    pub fn call_all(
        &self,
        calls: &[(&Uri, &str, &[Value])],
        timeout: Duration,
    ) -> Result<Vec<Result<Value, Error>>, Error> {
        let key = self.client()?;
        // Calls to one server run one after the other.
        let timeouts = |uri: &Uri| {
            let to_server = calls.iter().filter(|(other, ..)| other.endpoint == uri.endpoint);
            to_server.take(MAX_SERVER_TIMEOUTS).fold(0, |count, _| count + 1)
        };
        let begin = |(uri, method, params): &(&Uri, &str, &[Value])| {
            let total_timeout = timeout.saturating_mul(timeouts(uri));
            let options = CallOptions { timeout, total_timeout, keep_open: *uri == self.master_uri() };
            let call = self.shared.event_loop.driver().with_engine(key, |engine, now| {
                engine.as_client().map(|client| client.call(now, uri, method, params, options))
            });
            call.flatten().ok_or(Error::ShuttingDown)
        };
        let ids = calls.iter().map(begin).collect::<Result<Vec<_>, Error>>()?;
        let mut answers: Vec<_> = ids.iter().map(|_| None).collect();
        let take = |driver: &mut Driver| {
            for (id, answer) in ids.iter().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
                *answer = driver.take_call_answer(key, *id);
            }
            answers.iter().all(Option::is_some)
        };
        // The engine ends a call that takes too long.
        let max_timeouts = calls.iter().map(|(uri, ..)| timeouts(uri)).max().unwrap_or(1);
        let longest = timeout.saturating_mul(max_timeouts).saturating_add(Duration::from_secs(1));
        // A call made after the end of the context is part of the caller's cleanup.
        let _ = if self.ok() {
            self.shared.wait(longest, take)?
        } else {
            self.shared.wait_through_shutdown(longest, take)?
        };
        let answers =
            answers.into_iter().map(|answer| Ok(answer.ok_or(Error::ShuttingDown)?.map_err(Error::from)));
        answers.collect()
    }

    /// Returns the engine for calls that belong to no node.
    fn client(&self) -> Result<Key, Error> {
        let mut client = lock(&self.shared.client);
        if let Some(key) = *client {
            return Ok(key);
        }
        let config = RpcConfig { max_connections_per_server: 1, ..RpcConfig::default() };
        let engine = Engine::Other(Box::new(RpcPeer::new(config)));
        let key = self.shared.event_loop.driver().add_engine(engine, Vec::new())?;
        *client = Some(key);
        Ok(key)
    }
}
