//! Calls to the master and to other nodes.

use std::time::Duration;

use runnel_ros1::rpc::{CallOptions, RpcConfig, RpcPeer, Uri};
use runnel_ros1::xmlrpc::Value;

use crate::context::Context;
use crate::driver::{Driver, Engine, Key};
use crate::error::Error;
use crate::sync::lock;

/// How many times the time for one call the calls to one server may take together.
const MOST_TURNS: usize = 4;

impl Context {
    /// Calls a method of the master's API with these parameters and waits for the answer.
    ///
    /// # Errors
    /// When the master does not answer in time, or answers with a fault; [`Error::Ros1Only`] if the context is not in the ROS 1
    /// graph.
    pub fn call_master(&self, method: &str, params: &[Value], timeout: Duration) -> Result<Value, Error> {
        let ros1 = self.shared.settings.ros1.as_ref();
        let ros1 = ros1.ok_or_else(|| Error::Ros1Only { what: format!("{method} of the master") })?;
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

    /// Makes calls side by side, each a URI, a method and its parameters, and waits until every one has an answer or has
    /// failed. The answers come in the order of the calls. Each call to a server other than the master takes a
    /// connection of its own; calls to one server are made one after the other. The time runs for each from its turn, but
    /// four times that is the most for all calls to one server.
    ///
    /// # Errors
    /// When the context ends before. What a call failed with is its answer.
    pub fn call_all(
        &self,
        calls: &[(&Uri, &str, &[Value])],
        timeout: Duration,
    ) -> Result<Vec<Result<Value, Error>>, Error> {
        let key = self.client()?;
        // Calls to one server wait for one another.
        let turns = |uri: &Uri| {
            let to_server = calls.iter().filter(|(other, ..)| other.endpoint == uri.endpoint);
            to_server.take(MOST_TURNS).fold(0, |count, _| count + 1)
        };
        let begin = |(uri, method, params): &(&Uri, &str, &[Value])| {
            let total_timeout = timeout.saturating_mul(turns(uri));
            let options = CallOptions { timeout, total_timeout, keep_open: *uri == self.master_uri() };
            let call = self.shared.turning.driver().with_engine(key, |engine, now| {
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
        // The engine itself ends a call that takes too long.
        let most_turns = calls.iter().map(|(uri, ..)| turns(uri)).max().unwrap_or(1);
        let longest = timeout.saturating_mul(most_turns).saturating_add(Duration::from_secs(1));
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
        let config = RpcConfig { max_connections_per_server: 1, ..RpcConfig::default() };
        let engine = Engine::Other(Box::new(RpcPeer::new(config)));
        let key = self.shared.turning.driver().add_engine(engine, Vec::new())?;
        *client = Some(key);
        Ok(key)
    }
}
