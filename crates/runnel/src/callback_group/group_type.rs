//! Public type of callback groups.

use std::fmt;
use std::sync::Arc;

use super::ExclusiveGroup;

/// A group of callbacks that never run at the same time, or that may. It matters if an [`Executor`](crate::Executor)
/// has several threads, or a program several executors. Set it in the options of subscriptions, publishers (for QoS
/// events), services, timers, action servers and watched parameters.
///
/// | Callbacks | run at the same time |
/// |---|---|
/// | of one mutually exclusive group | never |
/// | of a reentrant group, of several groups, or without a group | yes |
/// | of one subscription, service or timer, in whichever group | never: they are `FnMut` |
///
/// Cloning gives another handle to the group.
///
/// ```no_run
/// use std::time::Duration;
/// use runnel::{CallbackGroup, SubscriptionOptions, TimerOptions, msgs::std_msgs::msg::Empty};
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let arm = CallbackGroup::mutually_exclusive();
/// let options = SubscriptionOptions::from(10).callback_group(&arm);
/// let _stops = node.create_subscription("stop", options, |_: &Empty| println!("stop"))?;
/// let options = TimerOptions::from(Duration::from_millis(10)).callback_group(&arm);
/// let _control = node.create_timer(options, || println!("control step"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CallbackGroup {
    /// `None` if the group is reentrant.
    exclusive: Option<Arc<ExclusiveGroup>>,
}

impl CallbackGroup {
    /// A group of which one callback runs at a time. Callbacks that become due meanwhile wait. A callback that calls a
    /// service of the same process and group gets [`ServiceError::Busy`](crate::ServiceError::Busy), since that service
    /// could never answer.
    pub fn mutually_exclusive() -> Self {
        Self { exclusive: Some(Arc::new(ExclusiveGroup::new())) }
    }

    /// A group whose callbacks may run at the same time, as those without a group may.
    pub fn reentrant() -> Self {
        Self { exclusive: None }
    }

    /// The group of one entity's callback, which excludes at least itself.
    pub(crate) fn for_entity(group: Option<&Self>) -> Arc<ExclusiveGroup> {
        let exclusive = group.and_then(|group| group.exclusive.clone());
        exclusive.unwrap_or_else(|| Arc::new(ExclusiveGroup::new()))
    }
}

impl fmt::Debug for CallbackGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.exclusive.is_some() { "MutuallyExclusive" } else { "Reentrant" };
        write!(f, "CallbackGroup::{name}")
    }
}
