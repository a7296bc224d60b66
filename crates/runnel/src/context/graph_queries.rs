//! Queries of the ROS 2 graph.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::Guid;

use crate::context::Context;
use crate::error::Error;
use crate::ros2_graph::{EndpointLinks, Gid, Ros2Graph};
use crate::settings::environment::Range as DiscoveryRange;

/// How often the graph is checked while waiting.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// How often a request that may be lost is repeated.
const REQUEST_INTERVAL: Duration = Duration::from_millis(50);

impl Context {
    /// The ROS 2 graph as known now; `None` if the context is not in it, or has left it. If no node has joined the
    /// graph, this joins it: then almost nothing is known yet, see [`Context::wait_for_ros2_graph`].
    ///
    /// # Errors
    /// If sockets cannot be opened.
    pub fn ros2_graph(&self) -> Result<Option<Ros2Graph>, Error> {
        let graph = {
            let mut driver = self.shared.event_loop.driver();
            driver.join_ros2()?;
            driver.ros2_graph()
        };
        self.shared.event_loop.ensure_background_thread();
        Ok(graph)
    }

    /// Statistics of the links of an endpoint in another process. `None` if its node does not answer within `timeout`:
    /// only Runnel nodes answer.
    ///
    /// # Errors
    /// If the operating system refuses to wait.
    pub fn ros2_links(&self, of: Gid, timeout: Duration) -> Result<Option<EndpointLinks>, Error> {
        let of = Guid::from_bytes(of.0);
        let (mut links, mut next) = (None, Instant::default());
        self.shared.wait(timeout, |driver| {
            links = driver.ros2.take_links(of);
            let now = clock::monotonic();
            if links.is_none() && now >= next {
                next = now + REQUEST_INTERVAL;
                driver.ros2.ask_links(of);
            }
            links.is_some()
        })?;
        Ok(links)
    }

    /// The range of the context's automatic discovery in ROS 2; `None` if it is only in ROS 1.
    pub fn discovery_range(&self) -> Option<DiscoveryRange> {
        self.shared.settings.ros2.as_ref().map(|ros2| ros2.range)
    }

    /// Waits at most `timeout` until the ROS 2 graph satisfies `done`. False if it does not.
    ///
    /// # Errors
    /// [`Error::NotInGraph`] if the context is not in the ROS 2 graph; [`Error::ShuttingDown`] when the context ends
    /// first; [`Error::Io`] if sockets cannot be opened.
    pub fn wait_for_ros2_graph(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&Ros2Graph) -> bool,
    ) -> Result<bool, Error> {
        let not_in_graph = || Error::NotInGraph { what: "wait_for_ros2_graph".to_owned() };
        let until = clock::monotonic() + timeout;
        let mut graph = self.ros2_graph()?.ok_or_else(not_in_graph)?;
        // The user's condition may call the library, so no lock is held.
        while !done(&graph) {
            let left = until.since(clock::monotonic());
            if !self.ok() {
                return Err(Error::ShuttingDown);
            }
            if left.is_zero() {
                return Ok(false);
            }
            self.shared.wait(left.min(CHECK_INTERVAL), |_| false)?;
            let Some(now) = self.ros2_graph()? else { return Err(Error::ShuttingDown) };
            graph = now;
        }
        Ok(true)
    }
}
