//! Processes of other versions of Runnel, whose memory this one cannot read: links with them stay on the network.

use super::greeting::Greeting;
use crate::driver::Driver;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::ipc::Hello;

impl Driver {
    /// The process at the other end is of another version of Runnel, and is told so unless it was that which told. Its user
    /// reads one line at each end.
    pub(super) fn end_with_other_version(&mut self, key: Key, from: u128) {
        let me = self.sessions.settings.as_ref().map_or(0, |settings| settings.identity.process);
        if let Some(Socket::Greeting(Greeting { packets, greeted: None, .. })) = self.sockets.get(key) {
            let _ = packets.send(&Hello { from: me, to: from }.to_bytes(), &[]);
        }
        if self.sessions.other_versions.add(from) {
            self.sessions.warn(format_args!(
                "another process of this host is of another version of Runnel: links with it stay on the network"
            ));
        }
        self.end_greeting(key);
    }
}
