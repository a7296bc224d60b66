//! Processes of other versions of Runnel, whose memory this one cannot read: links with them stay on the network.

use super::greeting::Greeting;
use super::{Entry, Sessions};
use crate::driver::effect::Effects;
use crate::driver::table::Key;
use crate::ipc::Hello;

impl Sessions {
    /// The process at the other end is of another version of Runnel, and is told so unless it was that which told. Its user
    /// reads one line at each end.
    pub(super) fn end_with_other_version(&mut self, key: Key, from: u128, effects: &mut Effects) {
        let me = self.settings.as_ref().map_or(0, |settings| settings.identity.process);
        if let Some(Entry::Greeting(Greeting { packets, greeted: None, .. })) = self.entries.get(key) {
            let _ = packets.send(&Hello { from: me, to: from }.to_bytes(), &[]);
        }
        if self.other_versions.add(from) {
            self.warn(format_args!(
                "another process of this host is of another version of Runnel: links with it stay on the network"
            ));
        }
        self.end_greeting(key, effects);
    }
}
