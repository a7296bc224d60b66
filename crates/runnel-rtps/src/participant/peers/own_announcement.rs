//! Our own announcement.

use crate::announce::{self, BuiltinEndpoints, ParticipantData};
use crate::config::Config;
use crate::participant::{Participant, Timer};
use crate::wire::{VERSION, VendorId};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use runnel_core::time::Instant;

/// Number of announcements with which participants that have named us are sent our new addresses.
const MOVE_REMINDERS: u32 = 7;

/// Serializes our announcement.
pub(in crate::participant) fn announcement_of(config: &Config) -> Arc<[u8]> {
    let mut out = Vec::new();
    data_of(config).emit(&mut out);
    out.into()
}

/// Serializes our announcement for a plain peer at this address.
pub(in crate::participant) fn plain_announcement_of(config: &Config, peer: IpAddr) -> Vec<u8> {
    announce::plain_participant(&data_of(config), &announce::nearest(&config.unicast, peer))
}

fn data_of(config: &Config) -> ParticipantData {
    ParticipantData {
        prefix: config.prefix,
        version: VERSION,
        vendor: VendorId::RUNNEL,
        // The port already determines the domain, and some peers drop announcements with this parameter.
        domain: None,
        domain_tag: Default::default(),
        lease: Some(config.lease),
        builtin: BuiltinEndpoints::OURS,
        metatraffic: config.unicast.clone(),
        unicast: config.unicast.clone(),
        name: config.name.clone(),
        user_data: config.user_data.clone(),
    }
}

impl Participant {
    /// Sets our addresses.
    pub fn set_addresses(&mut self, now: Instant, unicast: Vec<SocketAddr>, own: Vec<IpAddr>) {
        if (&self.config.unicast, &self.config.own_addresses) == (&unicast, &own) {
            return;
        }
        if self.config.unicast.iter().any(|former| !unicast.contains(former)) {
            // The network of a peer may be unreachable now.
            self.peers.all.values_mut().for_each(|peer| peer.is_path_in_doubt = true);
        }
        (self.config.unicast, self.config.own_addresses) = (unicast, own);
        self.announcement = announcement_of(&self.config);
        self.announced = 0;
        self.move_reminders = MOVE_REMINDERS;
        self.timers.schedule_if_earlier(Timer::Announce, now);
    }
}
