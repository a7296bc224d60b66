//! Types of a service.

use std::any::TypeId;
use std::borrow::Cow;
use std::sync::Arc;

use runnel_core::message::{Message, Service};
use runnel_core::schema::Schema;
use runnel_core::wire::Wire;

use super::events::InSequence;
use crate::rtps::{ServiceMessageType, ServiceTypeNames};

/// The type of a service.
#[derive(Clone, Debug)]
pub(crate) struct ServiceTypes {
    pub(crate) name: Cow<'static, str>,
    pub(crate) md5: Cow<'static, str>,
    /// Types of request and response, for calls of this process.
    pub(crate) ids: [TypeId; 2],
    /// Length of every ROS 1 request, if that is fixed.
    pub(crate) request_len: Option<usize>,
    /// The DDS type and the type hash of request and response; empty if the service cannot be represented in ROS 2.
    pub(crate) ros2: [(Cow<'static, str>, Cow<'static, str>); 2],
    /// `None` if the service cannot be represented in ROS 2.
    pub(crate) events: Option<ServiceEventType>,
}

/// What the type of a service's events follows from.
#[derive(Clone, Debug)]
pub(crate) struct ServiceEventType {
    /// The service in ROS 2.
    pub(crate) service: Cow<'static, str>,
    /// The definitions of request and response.
    pub(crate) definitions: [Cow<'static, str>; 2],
    pub(crate) in_sequence: InSequence,
}

impl ServiceEventType {
    pub(crate) fn of<S: Service>() -> Self {
        let definitions = [S::Request::ROS2_DEFINITION, S::Response::ROS2_DEFINITION].map(Cow::Borrowed);
        let service = Cow::Borrowed(S::ROS2_TYPE);
        Self { service, definitions, in_sequence: InSequence::typed::<S::Request>() }
    }

    /// Of a type that is known only at run time: the service, and its request and response in ROS 2.
    pub(crate) fn of_schemas(service: &str, [request, response]: [&Arc<Schema>; 2]) -> Self {
        let definitions = [request, response].map(|schema| Cow::Owned(schema.full_text.clone()));
        let (service, in_sequence) = (service.to_owned().into(), InSequence::Dynamic(Arc::clone(request)));
        Self { service, definitions, in_sequence }
    }
}

impl ServiceTypes {
    pub(crate) fn of<S: Service>() -> Self {
        let ids = [TypeId::of::<S::Request>(), TypeId::of::<S::Response>()];
        let ros2 = [(S::Request::DDS_TYPE, S::Request::RIHS01), (S::Response::DDS_TYPE, S::Response::RIHS01)]
            .map(|(dds_type, rihs01)| (Cow::Borrowed(dds_type), Cow::Borrowed(rihs01)));
        let (request_len, events) = (S::Request::FIXED_LEN, Some(ServiceEventType::of::<S>()));
        let [name, md5] = [S::TYPE, S::MD5].map(Cow::Borrowed);
        Self { name, md5, ids, request_len, ros2, events }
    }

    /// Whether these are the message types in ROS 2.
    pub(crate) fn are_in_ros2(&self, ServiceTypeNames { request, response }: &ServiceTypeNames) -> bool {
        let is_of = |(dds_type, rihs01): &(Cow<'_, str>, Cow<'_, str>), wanted: &ServiceMessageType| {
            *dds_type == wanted.dds_type && *rihs01 == wanted.rihs01
        };
        let [own_request, own_response] = &self.ros2;
        is_of(own_request, request) && is_of(own_response, response)
    }

    /// The message types in ROS 2; `None` if the service cannot be represented there.
    pub(crate) fn in_ros2(&self) -> Option<ServiceTypeNames> {
        let [request, response] = self.ros2.each_ref().map(|(dds_type, rihs01)| ServiceMessageType {
            dds_type: dds_type.clone().into_owned(),
            rihs01: rihs01.clone().into_owned(),
        });
        let is_known = !request.rihs01.is_empty() && !response.rihs01.is_empty();
        is_known.then_some(ServiceTypeNames { request, response })
    }
}
