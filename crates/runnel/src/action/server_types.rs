//! Types of an action as its server, and a client of dynamic types, use them: known when the program is compiled, or only
//! at run time.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use runnel_core::dynamic::DynamicMessage;
use runnel_core::message::Action;
use runnel_core::schema::ActionSchema;
use runnel_core::wire::{Encoding, GrowingSink, Reader, Sink, Wire};

use super::content::{Content, DynamicContent};
use super::types::ActionTypes;
use crate::data::{ServiceTypes, Unreadable};
use crate::error::ConversionError;
use crate::node::NodeInner;
use crate::rtps::ServiceTypeNames;
use crate::services::service::ProvidedType;
use crate::types::type_mapping::TypeMapping;

/// See the module's documentation.
pub(super) trait ServerTypes: Send + Sync + 'static {
    /// A goal.
    type Goal: Send + Sync + 'static;
    /// A result.
    type Result: Content;
    /// Feedback.
    type Feedback: Content;

    /// The types in each graph.
    fn types(&self) -> ActionTypes;

    /// The services that send a goal and get its result; `None` if the action has no form in ROS 2.
    fn services(&self, node: &NodeInner) -> Option<[ProvidedType; 2]>;

    /// Reads a goal, which is the rest of a message.
    fn read_goal(&self, reader: Reader<'_>) -> Result<Self::Goal, Unreadable>;

    /// The result of a goal that ends without one.
    fn empty_result(&self) -> Self::Result;
}

/// Types that are known when the program is compiled.
pub(super) struct StaticTypes<A>(PhantomData<fn(A)>);

impl<A> Default for StaticTypes<A> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<A: Action> ServerTypes for StaticTypes<A> {
    type Goal = A::Goal;
    type Result = A::Result;
    type Feedback = A::Feedback;

    fn types(&self) -> ActionTypes {
        ActionTypes::of::<A>()
    }

    fn services(&self, node: &NodeInner) -> Option<[ProvidedType; 2]> {
        Some([ProvidedType::of::<A::SendGoal>(node), ProvidedType::of::<A::GetResult>(node)])
    }

    fn read_goal(&self, mut reader: Reader<'_>) -> Result<A::Goal, Unreadable> {
        let mut goal = A::Goal::default();
        let read = goal.read_into(&mut reader).and_then(|()| reader.finish());
        read.map_err(|error| error.within("goal"))?;
        Ok(goal)
    }

    fn empty_result(&self) -> A::Result {
        A::Result::default()
    }
}

/// Types that are known only at run time.
pub(super) struct DynamicTypes {
    schema: Arc<ActionSchema>,
    pub(super) goal: TypeMapping,
    pub(super) result: Arc<TypeMapping>,
    pub(super) feedback: Arc<TypeMapping>,
}

/// A message of such a type.
pub(super) struct DynamicValue {
    /// `None` without a value, which is encoded as the default.
    message: Option<DynamicMessage>,
    mapping: Arc<TypeMapping>,
}

impl DynamicTypes {
    pub(super) fn of(schema: &Arc<ActionSchema>) -> Self {
        let [result, feedback] =
            [&schema.result, &schema.feedback].map(|part| Arc::new(TypeMapping::of(part)));
        Self { schema: Arc::clone(schema), goal: TypeMapping::of(&schema.goal), result, feedback }
    }

    pub(super) fn result_or_empty(&self, message: Option<&DynamicMessage>) -> DynamicValue {
        match message {
            Some(_) => DynamicValue { message: message.cloned(), mapping: Arc::clone(&self.result) },
            None => self.empty_result(),
        }
    }

    pub(super) fn feedback(&self, message: &DynamicMessage) -> DynamicValue {
        DynamicValue { message: Some(message.clone()), mapping: Arc::clone(&self.feedback) }
    }
}

impl ServerTypes for DynamicTypes {
    type Goal = DynamicMessage;
    type Result = DynamicValue;
    type Feedback = DynamicValue;

    fn types(&self) -> ActionTypes {
        ActionTypes::of_schema(&self.schema, [&self.goal, &*self.result, &*self.feedback])
    }

    fn services(&self, _: &NodeInner) -> Option<[ProvidedType; 2]> {
        let types = self.types().ros2?;
        Some([types.send_goal, types.get_result].map(|names| service_types(names).into()))
    }

    fn read_goal(&self, reader: Reader<'_>) -> Result<DynamicMessage, Unreadable> {
        Ok(self.goal.read(reader)?)
    }

    fn empty_result(&self) -> DynamicValue {
        let message = DynamicMessage::default_of(self.result.own()).ok();
        DynamicValue { message, mapping: Arc::clone(&self.result) }
    }
}

/// Service types that only ROS 2 has.
fn service_types(names: ServiceTypeNames) -> ServiceTypes {
    let ros2 =
        [names.request, names.response].map(|message| (message.dds_type.into(), message.rihs01.into()));
    let [name, md5] = ["", ""].map(Into::into);
    ServiceTypes { name, md5, ids: [TypeId::of::<DynamicTypes>(); 2], request_len: None, ros2, events: None }
}

impl Content for DynamicValue {
    fn encode(
        &self,
        encoding: Encoding,
        head: &dyn Fn(&mut dyn Sink),
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        let Some(message) = &self.message else { return Ok(()) };
        DynamicContent { message, mapping: &self.mapping }.encode(encoding, head, out)
    }
}
