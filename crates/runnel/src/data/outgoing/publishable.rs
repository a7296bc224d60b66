//! Types that can be published.

use std::sync::Arc;

use runnel_core::Message;
use runnel_core::wire::NoMemory;

/// A value that can be published as a message of type `M`: a message, a reference to one, or a shared one.
/// Subscriptions of the same process get a shared or owned one by reference; of a borrowed one they share one clone.
pub trait Publishable<M> {
    /// The message.
    fn message(&self) -> &M;
    /// The message, to be shared.
    fn into_shared(self) -> Arc<M>;
    /// The copy to be shared, if sharing the message needs one.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn copy_to_share(&self) -> Result<Option<Arc<M>>, NoMemory> {
        Ok(None)
    }
}

impl<M: Message> Publishable<M> for M {
    fn message(&self) -> &M {
        self
    }
    fn into_shared(self) -> Arc<M> {
        Arc::new(self)
    }
}

impl<M: Message> Publishable<M> for &M {
    fn message(&self) -> &M {
        self
    }
    fn into_shared(self) -> Arc<M> {
        Arc::new(self.clone())
    }
    fn copy_to_share(&self) -> Result<Option<Arc<M>>, NoMemory> {
        Ok(Some(Arc::new(self.try_clone()?)))
    }
}

impl<M: Message> Publishable<M> for Arc<M> {
    fn message(&self) -> &M {
        self
    }
    fn into_shared(self) -> Arc<M> {
        self
    }
}
