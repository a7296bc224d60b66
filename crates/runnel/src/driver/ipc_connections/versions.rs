//! Processes with another version of Runnel, whose memory layout differs. Links with them stay on the network.

use super::handshake::Handshake;
use super::{Entry, IpcConnections};
use crate::driver::effect::Effects;
use crate::driver::table::Key;
use crate::ipc::Hello;

impl IpcConnections {
    /// Ends the handshake with a process of another version of Runnel. Informs it, unless it informed this process.
    /// Each end logs one line.
    pub(super) fn end_with_other_version(&mut self, key: Key, from: u128, effects: &mut Effects) {
        let me = self.settings.as_ref().map_or(0, |settings| settings.identity.process);
        if let Some(Entry::Handshake(Handshake { packets, sent_hello: None, .. })) = self.entries.get(key) {
            let _ = packets.send(&Hello { from: me, to: from }.to_bytes(), &[]);
        }
        if self.other_versions.add(from) {
            self.warn(format_args!(
                "another process of this host is of another version of Runnel: links with it stay on the network"
            ));
        }
        self.end_handshake(key, effects);
    }
}
