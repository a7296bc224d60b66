//! Calls of services that are under way: a future, or an entity of a wait set.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::wire::Wire;
use runnel_io::clock;

use crate::caller::Caller;
use crate::client::{Client, read_response};
use crate::data::PendingCall;
use crate::error::Error;
use crate::ready::Waitable;
use crate::task_waiter::TaskWaiter;

/// A call that is under way: a future of its response, which works under any runtime. The call ends when this is dropped.
///
/// The task is woken by the thread that spins or, if none does, by a background thread. Instead of awaiting it, a program may add it
/// to a [`WaitSet`](crate::WaitSet) and [take](PendingResponse::take) the response.
#[must_use = "a call ends when it is dropped: await it or bind it to a name, `let response = ...`, not `let _ = ...`"]
pub struct PendingResponse<S> {
    caller: Arc<Caller>,
    pending: Arc<PendingCall>,
    waiter: TaskWaiter,
    is_taken: bool,
    service: PhantomData<fn(S)>,
}

impl<S: Service> Client<S> {
    /// Calls the service. The request is sent at once; the future gives the response, or why there is none. Dropping it ends the
    /// call. For a time limit use that of the runtime, or [`Client::send_request`].
    ///
    /// A service of this process answers while its node is spun by another thread or task.
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
    /// The future's, as [`Client::call`].
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

    /// Sends a request and returns at once. The response is to be awaited or [taken](PendingResponse::take). With a `timeout` the
    /// call fails when there is none by then.
    ///
    /// # Errors
    /// When the request is too long or there is no memory for it, or the context ends.
    pub fn send_request(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
    ) -> Result<PendingResponse<S>, Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let caller = Arc::clone(self.caller());
        let pending = caller.send(|out| request.write(out), until)?;
        let waitable: Arc<dyn Waitable> = Arc::<PendingCall>::clone(&pending);
        let waiter = TaskWaiter::new(caller.shared(), vec![waitable]);
        Ok(PendingResponse { caller, pending, waiter, is_taken: false, service: PhantomData })
    }
}

impl<S: Service> PendingResponse<S> {
    /// Takes the response, or why there is none, once; `None` while it has not come.
    pub fn take(&mut self) -> Option<Result<S::Response, Error>> {
        let bytes = self.caller.take(&self.pending)?;
        self.is_taken = true;
        Some(bytes.and_then(|bytes| read_response::<S>(self.caller.service(), &bytes)))
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
