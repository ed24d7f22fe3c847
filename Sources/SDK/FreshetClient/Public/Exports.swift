// Generated code imports this module alone.
@_exported public import FreshetTypes
