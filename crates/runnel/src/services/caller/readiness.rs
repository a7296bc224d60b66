//! Readiness of services: whether a node provides one, in any graph.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::answer::Answer;
use runnel_ros1::node::ServiceClientSpec;

use super::{Caller, response};
use crate::data::{CallPath, PendingCall};
use crate::driver::{Driver, ServiceInfo};
use crate::error::Error;

/// How often a service that does not exist yet is looked up.
const LOOKUP_INTERVAL: Duration = Duration::from_millis(50);

/// How long to wait for the master's lookup of a service, and for the service itself.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// The minimum of that time, even if less of a wait is left: two round trips over a slow radio.
const MIN_LOOKUP_TIMEOUT: Duration = Duration::from_millis(250);

impl Caller {
    /// Queries the provider of the service, and its type.
    pub(crate) fn info(&self, until: Option<Instant>) -> Result<ServiceInfo, Error> {
        let wanted =
            ServiceClientSpec { md5: "*".into(), persistent: false, probe: true, ..self.wanted.clone() };
        let pending = PendingCall::new();
        let (asks, call) = (self.asks(None), Arc::clone(&pending));
        let begun = self.node.driver().begin_call(self.node.key, wanted, asks, until, call);
        let link = begun.ok_or(Error::ShuttingDown)?;
        self.wait(&pending)?;
        let info = self.node.driver().nodes.service_info(self.node.key, link);
        self.end(&pending);
        let answer = pending.take().ok_or(Error::ShuttingDown)?;
        response(self.service(), CallPath::Ros1(link), answer)?;
        info.ok_or(Error::ShuttingDown)
    }

    /// Whether a node of any graph provides the service: in ROS 1 the master has registered it, and it answers.
    pub(crate) fn is_ready(&self) -> Result<bool, Error> {
        self.is_ready_by(clock::monotonic() + 2 * LOOKUP_TIMEOUT)
    }

    fn is_ready_by(&self, until: Instant) -> Result<bool, Error> {
        if self.is_ready_without_master(&self.node.driver()) {
            return Ok(true);
        }
        let context = &self.node.context;
        if !self.node.is_in_ros1() {
            return Ok(false);
        }
        let timeout = || until.since(clock::monotonic()).clamp(MIN_LOOKUP_TIMEOUT, LOOKUP_TIMEOUT);
        let params = [self.node.full_name().into(), self.service().into()];
        match context.call_master("lookupService", &params, timeout()) {
            Ok(answer) if Answer::parse(&answer).is_ok_and(|answer| answer.into_result().is_ok()) => {}
            Ok(_) | Err(Error::Call(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        // A killed node stays registered.
        match self.info(Some(clock::monotonic() + timeout())) {
            Ok(_) => Ok(true),
            Err(Error::Service { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Begins to wait for the service. The result completes once a node provides it; [`Caller::end`] ends the wait.
    pub(crate) fn begin_wait(&self) -> Result<Arc<PendingCall>, Error> {
        let (pending, mut driver) = (PendingCall::new(), self.node.driver());
        let in_ros2 = self.ros2.is_some_and(|client| driver.await_server(client, &pending));
        let wanted =
            ServiceClientSpec { md5: "*".into(), persistent: false, probe: true, ..self.wanted.clone() };
        let in_ros1 =
            self.node.is_in_ros1() && driver.await_service(self.node.key, wanted, &pending).is_some();
        if in_ros1 || in_ros2 { Ok(Arc::clone(&pending)) } else { Err(Error::ShuttingDown) }
    }

    /// Whether the service is ready, as far as this process knows.
    pub(crate) fn is_known_to_be_ready(&self) -> bool {
        self.is_ready_without_master(&self.node.driver())
    }

    /// Whether a node of this process provides the service, or one that is ready in ROS 2.
    fn is_ready_without_master(&self, driver: &Driver) -> bool {
        let is_in_ros2 = || match self.ros2 {
            Some(client) => driver.is_server_ready(client),
            None => driver.is_service_announced(self.service()),
        };
        driver.nodes.service(self.service()).is_some() || is_in_ros2()
    }

    /// Waits at most `timeout` until the service is ready. False if it is not.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends first; [`Error::Io`] if the operating system refuses to wait.
    pub(crate) fn wait_until_ready(&self, timeout: Duration) -> Result<bool, Error> {
        let (context, until) = (&self.node.context, clock::monotonic() + timeout);
        if !self.node.is_in_ros1() {
            return context.shared.wait_while_ok(timeout, |driver| self.is_ready_without_master(driver));
        }
        loop {
            if self.is_ready_by(until)? {
                return Ok(true);
            }
            let left = until.since(clock::monotonic());
            if !context.ok() {
                return Err(Error::ShuttingDown);
            }
            if left.is_zero() {
                return Ok(false);
            }
            // Not by a simulated clock, which may stand still.
            context.sleep_wall(left.min(LOOKUP_INTERVAL))?;
        }
    }
}
