//! Sockets of the ROS 2 participant, which reads them itself.

use std::io;
use std::sync::Arc;

use runnel_io::interfaces::InterfaceMonitor;
use runnel_io::{Interest, Token};

use super::{Socket, Sockets};
use crate::driver::effect::Effects;
use crate::rtps::Rtps;

impl Sockets {
    /// Adds the participant's sockets and a monitor of the host's interfaces to the reactor.
    pub(in crate::driver) fn add_participant(&mut self, rtps: &Rtps) -> io::Result<()> {
        for socket in rtps.receivers() {
            let key = self.insert(Socket::Rtps(Arc::clone(&socket)));
            self.reactor.add(&*socket, Token(key.to_bits()), Interest::Read)?;
        }
        let changes = InterfaceMonitor::watch()?;
        let key = self.insert(Socket::Nothing);
        self.reactor.add(&changes, Token(key.to_bits()), Interest::Read)?;
        if let Some(place) = self.get_mut(key) {
            *place = Socket::Interfaces(changes);
        }
        Ok(())
    }

    /// Removes the sockets of the participant.
    pub(in crate::driver) fn remove_participant(&mut self, effects: &mut Effects) {
        for key in self.keys() {
            match self.get(key) {
                // Other handles keep the socket open, so its datagrams would wake the program again and again.
                Some(Socket::Rtps(socket)) => drop(self.reactor.remove(&**socket)),
                Some(Socket::Interfaces(_)) => {}
                _ => continue,
            }
            self.remove(key, effects);
        }
    }
}
