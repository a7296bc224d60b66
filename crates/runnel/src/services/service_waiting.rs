//! Futures that wait for services.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use runnel_core::message::Service;

use crate::data::PendingCall;
use crate::error::{Error, ServiceError};
use crate::ready::Waitable;
use crate::runtime::task_waiter::TaskWaiter;
use crate::services::caller::Caller;
use crate::services::client::Client;

impl<S: Service> Client<S> {
    /// Waits until a node provides the service: [`Client::wait_for_service`] for tasks. Dropping the future
    /// abandons the wait.
    ///
    /// A ROS 1 master does not announce services. So the node asks it again after 50 ms, and later at least once a second.
    ///
    /// ```no_run
    /// use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
    ///
    /// async fn switch_on(client: &runnel::Client<SetBool>) -> Result<(), runnel::Error> {
    ///     client.wait_for_service_async().await?;
    ///     println!("{}", client.call_async(&SetBoolRequest { data: true }).await?.message);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_service_async(&self) -> impl Future<Output = Result<(), Error>> + Send + Unpin + use<S> {
        until_ready(self.caller())
    }
}

/// Waits until a node provides the service.
pub(crate) fn until_ready(
    caller: &Arc<Caller>,
) -> impl Future<Output = Result<(), Error>> + Send + Unpin + use<> {
    let mut wait = ServiceWait::begin(caller);
    poll_fn(move |task| match &mut wait {
        Ok(wait) => wait.poll(task),
        Err(_) => Poll::Ready(Err(Error::ShuttingDown)),
    })
}

/// A wait for a service, which ends when dropped.
struct ServiceWait {
    caller: Arc<Caller>,
    pending: Arc<PendingCall>,
    waiter: TaskWaiter,
}

impl ServiceWait {
    fn begin(caller: &Arc<Caller>) -> Result<Self, Error> {
        let pending = caller.begin_wait()?;
        let waitable: Arc<dyn Waitable> = Arc::<PendingCall>::clone(&pending);
        let waiter = TaskWaiter::new(caller.shared(), vec![waitable]);
        Ok(Self { caller: Arc::clone(caller), pending, waiter })
    }

    fn poll(&mut self, task: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.waiter.register(task);
        match self.pending.take() {
            Some(Ok(_)) => Poll::Ready(Ok(())),
            Some(Err(why)) => Poll::Ready(Err(self.caller.error(ServiceError::NoAnswer(why)))),
            None if self.caller.is_known_to_be_ready() => Poll::Ready(Ok(())),
            None if self.waiter.ok() => Poll::Pending,
            None => Poll::Ready(Err(Error::ShuttingDown)),
        }
    }
}

impl Drop for ServiceWait {
    fn drop(&mut self) {
        self.caller.end(&self.pending);
    }
}
