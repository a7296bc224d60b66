//! The host that a guest has left: it passes on what it still receives, and answers what it had received.

use runnel::core::time::Instant;

use super::Host;

/// See the module's documentation.
pub trait FormerHost: Send {
    /// Takes what it has passed on. False once it passes on no more.
    fn poll(&mut self, host: &mut Host) -> bool;

    /// Answers a request that it had received. False if it had not.
    fn respond(&mut self, id: u64, response: Result<&[u8], &str>) -> bool;

    /// Cancels a goal that it has sent. False if it has not.
    fn cancel_goal(&self, id: u64) -> bool;

    /// When there is something to do without a message of it.
    fn due(&self) -> Option<Instant>;
}

/// Takes what the former host of a guest has passed on, if there is one.
pub fn poll_former_host(host: &mut Host) {
    let Some(mut former) = host.former.take() else { return };
    if former.poll(host) {
        host.former = Some(former);
    }
}
