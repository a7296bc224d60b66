//! Measures what rules are about.

mod cpu;
mod probe;
mod topics;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use runnel::{Context, Node, Subscription};

use self::cpu::Cpu;
use self::probe::Probe;
use super::quantity::{Measurements, Quantity, Value};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::streaming::lock;

/// Measures as long as it lives.
pub struct Meter {
    measurements: Arc<Mutex<Measurements>>,
    quantities: Vec<Quantity>,
    cpu: Cpu,
    probes: BTreeMap<String, Probe>,
    _subscriptions: Vec<Subscription>,
}

impl Meter {
    /// Measures these quantities.
    ///
    /// # Errors
    /// If a subscription or a thread cannot be created.
    pub fn new(
        quantities: Vec<Quantity>,
        (context, node): (&Context, &Node),
        cli: &CliContext,
    ) -> Result<Self, CliError> {
        let measurements = Arc::default();
        let subscriptions = topics::subscribe(&quantities, &measurements, (context, node), cli)?;
        let mut probes = BTreeMap::new();
        for quantity in &quantities {
            if let Quantity::RoundTrip(host) | Quantity::Loss(host) = quantity
                && !probes.contains_key(host)
            {
                probes.insert(host.clone(), Probe::start(host)?);
            }
        }
        Ok(Self { measurements, quantities, cpu: Cpu::default(), probes, _subscriptions: subscriptions })
    }

    /// What is measured now.
    pub fn measure(&mut self, now: Instant) -> Measurements {
        let mut measurements = lock(&self.measurements);
        for quantity in &self.quantities {
            let quality = |host: &String| self.probes.get(host)?.quality();
            let measured = match quantity {
                Quantity::Cpu => self.cpu.measure().map(|share| (share, now)),
                Quantity::Loss(host) => quality(host).map(|quality| (quality.loss, quality.at)),
                Quantity::RoundTrip(host) => {
                    quality(host).and_then(|quality| Some((quality.round_trip?, quality.at)))
                }
                Quantity::Field { .. } => None,
            };
            if let Some((number, at)) = measured {
                measurements.set(quantity.clone(), Value::Number(number), at);
            }
        }
        measurements.clone()
    }

    /// Whether each quantity was measured at least once.
    pub fn is_complete(&self, measurements: &Measurements, now: Instant) -> bool {
        self.quantities.iter().all(|quantity| measurements.get(quantity, now).is_some())
    }
}
