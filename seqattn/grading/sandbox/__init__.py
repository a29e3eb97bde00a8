"""A process that computes with a learner's code, and can do nothing else.

The host (:mod:`.host`) starts one worker, which imports torch once and then forks a child for each
answer. A child gets code and inputs, sends back outputs, and dies.

``worker``, ``runner``, ``wire`` and ``confine`` run over there. They import nothing of seqattn,
since that is the answer key and must not even be readable, and one another relatively: the worker
knows this folder as a package of its own, ``sandbox``.
"""
