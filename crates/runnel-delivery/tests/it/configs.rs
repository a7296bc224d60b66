//! Configurations of the explorer.

use runnel_delivery::{Credit, QueuePolicy};

use crate::explore::{describe, explore};
use crate::world::Config;
use crate::world::Kind::{Best, Mem, Plain, Relay, Rtps, Tcp, Udp};

/// Maximum number of states of a configuration in an ordinary run.
const MAX_STATES: usize = 1_500;

/// Maximum number of states of a configuration in a full run.
const MAX_STATES_FULL: usize = 8_000_000;

fn max_states() -> usize {
    match std::env::var("RUNNEL_DELIVERY_STATES") {
        Ok(value) if value == "full" => MAX_STATES_FULL,
        Ok(value) => value.parse().unwrap(),
        Err(_) => MAX_STATES,
    }
}

fn is_full() -> bool {
    std::env::var("RUNNEL_DELIVERY_STATES").is_ok()
}

/// Explores a configuration. If it reaches the limit, smaller ones are also explored completely.
fn holds(config: Config) {
    let outcome = explore(&config, max_states());
    println!("{:<40} {:>9} states, complete: {}", config.name, outcome.states, outcome.is_complete);
    if let Some((why, moves)) = outcome.fault {
        panic!("{} ({} states): {why}\n{}", config.name, outcome.states, describe(&config, &moves));
    }
    if !outcome.is_complete && !is_full() {
        let fewer = Config { messages: config.messages - 1, ..config };
        if fewer.messages > 1 {
            holds(fewer);
        }
    }
}

fn keep_last(config: Config, depth: usize) -> Config {
    Config { policy: QueuePolicy::KeepLast { depth }, capacity: 2, ..config }
}

#[test]
fn tcp_and_memory() {
    holds(Config::new(&[(Tcp, true, false), (Mem, true, true)], 5, 2, 1));
}

#[test]
fn tcp_and_memory_that_comes_again() {
    holds(Config::new(&[(Tcp, true, false), (Mem, true, true), (Mem, false, true)], 4, 2, 2));
}

#[test]
fn tcp_that_may_die_and_memory() {
    holds(Config::new(&[(Tcp, true, true), (Mem, true, false)], 5, 2, 1));
}

#[test]
fn tcp_and_memory_that_both_may_die() {
    holds(Config::new(&[(Tcp, true, true), (Mem, true, true), (Tcp, false, false)], 4, 2, 2));
}

#[test]
fn rtps_and_memory() {
    holds(Config::new(&[(Rtps, true, false), (Mem, true, true)], 4, 2, 1));
}

#[test]
fn tcp_and_rtps() {
    holds(Config::new(&[(Tcp, true, false), (Rtps, true, true)], 4, 2, 1));
}

#[test]
fn tcp_that_may_die_and_rtps() {
    holds(Config::new(&[(Tcp, true, true), (Rtps, true, false)], 4, 2, 1));
}

#[test]
fn tcp_and_rtps_and_memory() {
    holds(Config::new(&[(Tcp, true, false), (Rtps, true, true), (Mem, true, true)], 3, 2, 1));
}

#[test]
fn tcp_and_rtps_and_memory_with_two_deaths() {
    holds(Config::new(&[(Tcp, true, false), (Rtps, true, true), (Mem, true, true)], 3, 2, 2));
}

#[test]
fn tcp_and_two_of_memory_with_two_deaths() {
    holds(Config::new(&[(Tcp, true, false), (Mem, true, true), (Mem, true, true)], 4, 2, 2));
}

#[test]
fn best_effort_and_tcp() {
    holds(Config::new(&[(Tcp, true, false), (Best, true, true)], 4, 2, 1));
}

#[test]
fn best_effort_and_memory() {
    holds(Config::new(&[(Best, true, false), (Mem, true, true)], 4, 2, 1));
}

#[test]
fn keep_last_over_tcp_and_memory() {
    holds(keep_last(Config::new(&[(Tcp, true, false), (Mem, true, true)], 5, 2, 1), 1));
}

#[test]
fn keep_last_over_tcp_that_may_die() {
    holds(keep_last(Config::new(&[(Tcp, true, true), (Mem, true, false)], 4, 2, 1), 1));
}

#[test]
fn keep_last_over_tcp_and_rtps() {
    holds(keep_last(Config::new(&[(Tcp, true, false), (Rtps, true, true)], 4, 2, 1), 1));
}

#[test]
fn keep_last_over_rtps_and_memory() {
    holds(keep_last(Config::new(&[(Rtps, true, false), (Mem, true, true)], 4, 2, 1), 2));
}

#[test]
fn best_effort_stream_over_memory_and_tcp() {
    let config = Config::new(&[(Mem, true, true), (Tcp, false, false)], 4, 1, 1);
    holds(Config { policy: QueuePolicy::BestEffort { depth: 1 }, capacity: 2, ..config });
}

#[test]
fn memory_dies_before_remote_rtps_comes_up() {
    holds(Config::new(&[(Mem, true, true), (Rtps, false, false)], 4, 1, 1));
}

#[test]
fn relay_switches_to_tcp() {
    holds(Config::new(&[(Relay, true, true), (Tcp, false, false)], 4, 2, 1));
}

#[test]
fn lost_statements_are_repeated() {
    let config = Config::new(&[(Rtps, true, false), (Mem, true, true)], 2, 1, 1);
    holds(Config { loses_statements: true, ..config });
}

#[test]
fn byte_limits_of_queue_and_credit() {
    let config = Config::new(&[(Tcp, true, false), (Mem, true, true)], 4, 2, 1);
    holds(Config { max_bytes: 12, credit: Credit { messages: 3, bytes: 10 }, ..config });
}

#[test]
fn byte_limits_of_queue_and_credit_with_rtps() {
    let config = Config::new(&[(Rtps, true, true), (Tcp, true, false)], 4, 1, 1);
    holds(Config { max_bytes: 12, credit: Credit { messages: 3, bytes: 10 }, ..config });
}

#[test]
fn udpros_and_memory() {
    holds(Config::new(&[(Udp, true, false), (Mem, true, true)], 4, 2, 1));
}

#[test]
fn udpros_and_tcp() {
    holds(Config::new(&[(Udp, true, true), (Tcp, true, false)], 4, 2, 1));
}

#[test]
fn tcp_without_statements_and_rtps() {
    holds(Config::new(&[(Plain, true, false), (Rtps, true, true)], 4, 2, 1));
}

#[test]
fn tcp_without_statements_that_may_die_and_rtps() {
    holds(Config::new(&[(Plain, true, true), (Rtps, true, false)], 4, 2, 1));
}

#[test]
fn tcp_without_statements_and_memory() {
    holds(Config::new(&[(Plain, true, true), (Mem, true, true)], 4, 2, 1));
}

#[test]
fn udpros_and_memory_and_tcp() {
    holds(Config::new(&[(Udp, true, true), (Mem, true, true), (Tcp, true, false)], 3, 2, 1));
}

#[test]
fn udpros_and_rtps_of_both_kinds() {
    holds(Config::new(&[(Udp, true, true), (Best, true, false), (Rtps, true, false)], 3, 2, 1));
}
