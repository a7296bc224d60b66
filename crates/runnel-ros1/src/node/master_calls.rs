//! Calls to the master, and the handling of its answers.

use std::time::Duration;

use runnel_core::time::Instant;

use super::event::{NodeEvent, Role};
use super::fault::{MasterFault, PeerFault};
use super::registrar::{MasterRequest, NameOwner};
use super::timer::Timer;
use super::{Node, Purpose, strings};
use crate::answer::Answer;
use crate::peer_text::{sanitize, sanitize_value};
use crate::rpc::{CallError, CallOptions};
use crate::xmlrpc::Value;

/// Time for the master to answer a call.
const MASTER_DEADLINE: Duration = Duration::from_secs(10);

/// Time for unregistering when the node closes.
const CLOSE_DEADLINE: Duration = Duration::from_secs(1);

impl Node {
    /// Makes the calls to the master that are due.
    pub(super) fn ask_master(&mut self, now: Instant) {
        while let Some(ask) = self.registrar.next_request(now) {
            match ask {
                MasterRequest::Register(role, topic) => self.register(now, role, topic),
                MasterRequest::Unregister(role, topic) => self.unregister(now, role, topic),
                MasterRequest::NameOwner => self.ask_owner(now),
            }
        }
        self.unregister_former_name(now);
        self.ask_for_parameters(now);
    }

    fn register(&mut self, now: Instant, role: Role, topic: String) {
        let (method, spec) = match role {
            Role::Publisher => ("registerPublisher", self.publications.get(&topic)),
            Role::Subscriber => {
                ("registerSubscriber", self.subscriptions.get_mut(&topic).map(|s| s.begin_registration()))
            }
            Role::Service => {
                let params = self.service_registration(&topic);
                return self.call_master(now, "registerService", &params, Purpose::Register(role, topic));
            }
            Role::Parameter | Role::ParamSubscriber => {
                if let Some((method, params)) = self.parameter_registration(role, &topic) {
                    self.call_master(now, method, &params, Purpose::Register(role, topic));
                }
                return;
            }
        };
        let Some(spec) = spec else { return };
        let params = [
            self.config.registered_name().into(),
            topic.as_str().into(),
            spec.type_name.as_str().into(),
            self.uri().into(),
        ];
        self.call_master(now, method, &params, Purpose::Register(role, topic));
    }

    fn unregister(&mut self, now: Instant, role: Role, topic: String) {
        let params = self.unregistration_params(self.config.registered_name(), role, &topic);
        self.call_master(now, unregister_method(role), &params, Purpose::Unregister(role, topic));
    }

    pub(super) fn ask_owner(&mut self, now: Instant) {
        let name = Value::from(self.config.registered_name());
        self.call_master(now, "lookupNode", &[name.clone(), name], Purpose::AskOwner);
    }

    pub(super) fn call_master(&mut self, now: Instant, method: &str, params: &[Value], purpose: Purpose) {
        let options = one_deadline(MASTER_DEADLINE);
        let call = self.rpc.call(now, &self.config.master, method, params, options);
        self.calls.insert(call, purpose);
    }

    pub(super) fn registration_answered(
        &mut self,
        now: Instant,
        role: Role,
        topic: &str,
        answer: Result<Value, CallError>,
    ) {
        match answer.map_err(Failure::from).and_then(|value| answer_value(&value)) {
            Ok(value) => {
                if !self.registrar.registered(role, topic, true) {
                    return;
                }
                self.events.push_back(NodeEvent::Registered { role, name: topic.to_owned() });
                match role {
                    Role::Subscriber => match strings(&value) {
                        Some(uris) => self.publishers_answered(now, topic, &uris),
                        None => self.report_fault(PeerFault::NotAPublisherList {
                            topic: topic.to_owned(),
                            answer: sanitize_value(&value),
                        }),
                    },
                    Role::ParamSubscriber => self.on_parameter_changed(topic, &value),
                    _ => {}
                }
            }
            Err(Failure::Refused(why)) => {
                if self.registrar.registered(role, topic, false) {
                    self.events.push_back(NodeEvent::RegistrationRefused {
                        role,
                        name: topic.to_owned(),
                        why,
                    });
                }
            }
            Err(Failure::Silent(why)) => self.master_silent(now, why),
        }
    }

    pub(super) fn unregistration_answered(
        &mut self,
        now: Instant,
        role: Role,
        topic: &str,
        answer: Result<Value, CallError>,
    ) {
        match answer.map_err(Failure::from) {
            Err(Failure::Silent(why)) => self.master_silent(now, why),
            // A master that refuses does not know the entry.
            Ok(_) | Err(Failure::Refused(_)) => self.registrar.unregistered(role, topic),
        }
    }

    pub(super) fn owner_answered(&mut self, now: Instant, answer: Result<Value, CallError>) {
        let owner = match answer.map_err(Failure::from).and_then(|value| answer_value(&value)) {
            Ok(uri) if uri.as_str() == Some(&self.uri()) => NameOwner::Own,
            Ok(_) => NameOwner::Foreign,
            Err(Failure::Refused(_)) => NameOwner::Unowned,
            Err(Failure::Silent(why)) => return self.master_silent(now, why),
        };
        if self.registrar.on_owner(now, &owner) {
            self.timers.schedule(Timer::Lists, self.registrar.additive_until());
            self.events.push_back(NodeEvent::MasterReconnected);
        } else if owner == NameOwner::Foreign {
            let reason = "another node registered with the same name while the master was away".to_owned();
            self.events.push_back(NodeEvent::Stopped { reason });
        }
    }

    pub(super) fn master_silent(&mut self, now: Instant, why: MasterFault) {
        if self.registrar.on_no_answer(now) {
            let master = self.config.master.clone();
            self.events.push_back(NodeEvent::MasterUnreachable { master, why });
        }
    }

    /// Unregisters these entries in one call.
    pub(super) fn unregister_all(&mut self, now: Instant, known: &[(Role, String)]) {
        let name = self.config.registered_name().to_owned();
        self.unregister_under(now, &name, known, Purpose::Close);
    }

    /// Unregisters these entries of a name in one call.
    pub(super) fn unregister_under(
        &mut self,
        now: Instant,
        name: &str,
        known: &[(Role, String)],
        purpose: Purpose,
    ) {
        let of = |(role, topic): &(Role, String)| self.unregistration(name, *role, topic);
        let calls: Vec<Value> = known.iter().map(of).collect();
        let options = one_deadline(CLOSE_DEADLINE);
        let call = self.rpc.call(now, &self.config.master, "system.multicall", &[calls.into()], options);
        self.calls.insert(call, purpose);
    }

    /// The name and the registered address, in the order of the method's parameters.
    fn unregistration_params(&self, name: &str, role: Role, topic: &str) -> Vec<Value> {
        let (name, uri) = (name.into(), Value::from(self.uri()));
        match role {
            Role::Service => vec![name, topic.into(), self.service_uri().into()],
            Role::ParamSubscriber => vec![name, uri, topic.into()],
            Role::Parameter => vec![name, topic.into()],
            Role::Publisher | Role::Subscriber => vec![name, topic.into(), uri],
        }
    }

    fn unregistration(&self, name: &str, role: Role, topic: &str) -> Value {
        let params = self.unregistration_params(name, role, topic);
        let members = [
            ("methodName".to_owned(), Value::from(unregister_method(role))),
            ("params".to_owned(), Value::Array(params)),
        ];
        Value::Struct(members.into())
    }
}

/// Reason why a call to the master failed.
pub(super) enum Failure {
    /// The master answered with a refusal.
    Refused(MasterFault),
    /// The master did not answer.
    Silent(MasterFault),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Fault { .. } | CallError::BadRequest { .. } => Self::Refused(error.into()),
            _ => Self::Silent(error.into()),
        }
    }
}

/// The value of a successful answer.
pub(super) fn answer_value(answer: &Value) -> Result<Value, Failure> {
    let answer = Answer::parse(answer).map_err(|error| Failure::Refused(error.into()))?;
    answer.into_result().cloned().map_err(|why| Failure::Refused(MasterFault::Declined(sanitize(why))))
}

/// One deadline for a call and its waiting time, so that calls queued behind an unanswered one fail together with it.
fn one_deadline(timeout: Duration) -> CallOptions {
    CallOptions { timeout, total_timeout: timeout, keep_open: true }
}

fn unregister_method(role: Role) -> &'static str {
    match role {
        Role::Publisher => "unregisterPublisher",
        Role::Subscriber => "unregisterSubscriber",
        Role::Service => "unregisterService",
        Role::ParamSubscriber => "unsubscribeParam",
        Role::Parameter => "deleteParam",
    }
}
