//! The data plane: what carries messages once a link stands. Nothing here knows of masters and names.

mod frames;
mod publication;
mod ready;
mod subscription;

pub(crate) use publication::{Publication, PublicationOptions, Pushed};
pub(crate) use ready::{ReadyQueue, Runnable};
pub(crate) use subscription::{Delivery, LinkInfo, SubscriptionCore, SubscriptionOptions, TopicInput};
