"""Live figures: the same cell moves in JupyterLab, in Colab and in the static book."""

from seqattn.widgets.additive_steps import AdditiveSteps
from seqattn.widgets.base import LiveFigure
from seqattn.widgets.beam_tree import BeamTree
from seqattn.widgets.cache_counter import CacheCounter
from seqattn.widgets.copy_mixture import CopyMixture
from seqattn.widgets.coverage_steps import CoverageSteps
from seqattn.widgets.decoder_flow import DecoderFlow
from seqattn.widgets.dot_variance import DotVariance
from seqattn.widgets.edit_cost import EditCost
from seqattn.widgets.fixed_versus_dynamic import FixedVersusDynamic
from seqattn.widgets.heads_explorer import HeadsExplorer
from seqattn.widgets.kernel_smoother import KernelSmoother
from seqattn.widgets.linear_regime import LinearRegime
from seqattn.widgets.local_window import LocalWindow
from seqattn.widgets.map_reader import MapReader
from seqattn.widgets.map_through_training import MapThroughTraining
from seqattn.widgets.paired_draws import PairedDraws
from seqattn.widgets.penalty_path import PenaltyPath
from seqattn.widgets.position_dials import PositionDials
from seqattn.widgets.rank_slider import RankSlider
from seqattn.widgets.recency import Recency
from seqattn.widgets.score_geometry import ScoreGeometry
from seqattn.widgets.self_attention_layer import SelfAttentionLayer
from seqattn.widgets.soft_lookup import SoftLookup
from seqattn.widgets.softmax_temperature import SoftmaxTemperature
from seqattn.widgets.sparse_reach import SparseReach
from seqattn.widgets.turned_question import TurnedQuestion
from seqattn.widgets.two_clouds import TwoClouds
from seqattn.widgets.two_heads import TwoHeads
from seqattn.widgets.unrolled import Unrolled
from seqattn.widgets.weight_surgery import WeightSurgery
from seqattn.widgets.weighted_sum import WeightedSum

__all__ = [
    "AdditiveSteps",
    "BeamTree",
    "CacheCounter",
    "CopyMixture",
    "CoverageSteps",
    "DecoderFlow",
    "DotVariance",
    "EditCost",
    "FixedVersusDynamic",
    "HeadsExplorer",
    "KernelSmoother",
    "LinearRegime",
    "LiveFigure",
    "LocalWindow",
    "MapReader",
    "MapThroughTraining",
    "PairedDraws",
    "PenaltyPath",
    "PositionDials",
    "RankSlider",
    "Recency",
    "ScoreGeometry",
    "SelfAttentionLayer",
    "SoftLookup",
    "SoftmaxTemperature",
    "SparseReach",
    "TurnedQuestion",
    "TwoClouds",
    "TwoHeads",
    "Unrolled",
    "WeightSurgery",
    "WeightedSum",
]
