//! Pending service calls: futures, or entities of a wait set.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use runnel_core::message::Service;
use runnel_io::clock;

use crate::data::PendingCall;
use crate::error::Error;
use crate::ready::Waitable;
use crate::runtime::task_waiter::TaskWaiter;
use crate::services::caller::Caller;
use crate::services::client::{Client, Typed, read_response};

/// A pending service call: a future of its response, for any async runtime. Dropping it abandons the call.
///
/// The spinning thread wakes the task; if no thread spins, a background thread does.
///
/// # Wakers
/// Runnel holds none of its locks while it wakes a task or drops a waker. So a waker may call Runnel, for example to
/// poll its task immediately. It runs on the thread that received or published, and delays that thread. This holds for
/// all futures and streams of Runnel.
///
/// # Without a task
/// Instead of awaiting the call, a program may add it to a [`WaitSet`](crate::WaitSet) and
/// [take](PendingResponse::take) the response.
#[must_use = "a call is abandoned when it is dropped: await it or bind it to a name, `let response = ...`, not `let _ = ...`"]
pub struct PendingResponse<S> {
    caller: Arc<Caller>,
    pending: Arc<PendingCall>,
    waiter: TaskWaiter,
    is_taken: bool,
    service: PhantomData<fn(S)>,
}

impl<S: Service> Client<S> {
    /// Calls the service. The request is sent at once. The future returns the response, or why there is none; dropping
    /// it abandons the call. For a time limit, use the runtime's or [`Client::send_request`].
    ///
    /// A service of this process answers only while another thread or task spins its node.
    ///
    /// ```no_run
    /// use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
    ///
    /// async fn switch_on(client: &runnel::Client<SetBool>) -> Result<(), runnel::Error> {
    ///     let response = client.call_async(&SetBoolRequest { data: true }).await?;
    ///     println!("{}", response.message);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of [`Client::call`], when the future is awaited.
    pub fn call_async(
        &self,
        request: &S::Request,
    ) -> impl Future<Output = Result<S::Response, Error>> + Send + Unpin + use<S> {
        let mut sent = self.send_request(request, None).map_err(Some);
        poll_fn(move |task| match &mut sent {
            Ok(pending) => Pin::new(pending).poll(task),
            Err(error) => Poll::Ready(Err(error.take().unwrap_or(Error::ShuttingDown))),
        })
    }

    /// Sends a request and returns at once. Await the response or [take](PendingResponse::take) it. With a `timeout`,
    /// the call fails if there is no response by then.
    ///
    /// # Errors
    /// As [`Client::call_with`].
    pub fn send_request(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
    ) -> Result<PendingResponse<S>, Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let caller = Arc::clone(self.caller());
        let pending = caller.send(&Typed(request), until)?;
        let waitable: Arc<dyn Waitable> = Arc::<PendingCall>::clone(&pending);
        let waiter = TaskWaiter::new(caller.shared(), vec![waitable]);
        Ok(PendingResponse { caller, pending, waiter, is_taken: false, service: PhantomData })
    }
}

impl<S: Service> PendingResponse<S> {
    /// Takes the response, or why there is none, once. `None` while it is pending.
    pub fn take(&mut self) -> Option<Result<S::Response, Error>> {
        let response = self.caller.take(&self.pending)?;
        self.is_taken = true;
        Some(response.and_then(|response| read_response::<S>(self.caller.service(), &response)))
    }

    pub(crate) fn pending(&self) -> &Arc<PendingCall> {
        &self.pending
    }
}

impl<S: Service> Future for PendingResponse<S> {
    type Output = Result<S::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        self.waiter.register(task);
        match self.take() {
            Some(response) => Poll::Ready(response),
            None if self.is_taken || !self.waiter.ok() => Poll::Ready(Err(Error::ShuttingDown)),
            None => Poll::Pending,
        }
    }
}

impl<S> fmt::Debug for PendingResponse<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingResponse").field("service", &self.caller.service()).finish_non_exhaustive()
    }
}

impl<S> Drop for PendingResponse<S> {
    fn drop(&mut self) {
        if !self.is_taken {
            self.caller.end(&self.pending);
        }
    }
}
